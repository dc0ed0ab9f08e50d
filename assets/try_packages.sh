#!/bin/sh
# Tries what assets/release.sh made in OUT (target/dist) as a user would, each in a place of its own:
# the wheel in a fresh virtual environment, the archive and the Debian package unpacked, and none of
# them with anything of this source tree in reach.
#
#   assets/try_packages.sh [OUT]
#
# Needs Python with venv (PYTHON=…/python, else python3) and the package index, for scikit-learn.
set -eu
out=$(cd "${1:-$(dirname "$0")/../target/dist}" && pwd)
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
unset HALFLIGHT PYTHONPATH
export HOME="$place/home"
mkdir -p "$HOME" study

(cd "$out" && sha256sum --quiet --check SHA256SUMS)
echo "checksums: right"

"$python" -m venv fresh
fresh/bin/python -m pip install --quiet --disable-pip-version-check "$(ls "$out"/*.whl)[sklearn]"
fresh/bin/halflight --version
fresh/bin/python - <<'EOF'
import numpy as np

import halflight

chance = np.random.default_rng(1)
weights = np.array([1.0, -2.0, 0.5])
public_X, X = chance.normal(0, 1, (300, 3)), chance.normal(0, 1, (400, 3))
model = halflight.PrivateRegressor(
    public=(public_X, public_X @ weights), epsilon=1, ledger="study", budget=(4, 1e-5)
)
model.fit(X, X @ (weights + 0.3))
assert model.predict(X[:2]).shape == (2,) and model.guarantee_.epsilon <= 1
print("wheel: installed, imported, one fit,", model.guarantee_)
EOF

tar xzf "$out"/halflight-*-x86_64-linux.tar.gz
archive=$(echo halflight-*-x86_64-linux)
"$archive/halflight" --version
if ldd "$archive/halflight" 2>/dev/null | grep -q '=>'; then
    echo "the program of the archive needs libraries of the system" >&2
    exit 1
fi
test -s "$archive/man/halflight.1" && test -s "$archive/guide/install.md"
echo "archive: runs without any library of the system"

if command -v dpkg-deb >/dev/null; then
    dpkg-deb --extract "$out"/*.deb debian
    debian/usr/bin/halflight --version
    gzip --test debian/usr/share/man/man1/*.gz
    twice=$(dpkg-deb --contents "$out"/*.deb | awk '{print $6}' | sort | uniq --repeated)
    [ -z "$twice" ] || { echo "in the Debian package twice: $twice" >&2; exit 1; }
    echo "Debian package: unpacked, runs; $(dpkg-deb --field "$out"/*.deb Maintainer)"
else
    echo "Debian package: not tried, there is no dpkg-deb"
fi
