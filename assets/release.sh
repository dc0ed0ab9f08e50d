#!/bin/sh
# Makes everything that is handed out, and SHA256SUMS over it:
#
#   halflight-VERSION-x86_64-linux.tar.gz   the program with man pages, completions and guide
#   halflight-VERSION-….whl                 the Python package, with the same program in it
#   halflight_VERSION-1_amd64.deb           for Debian and Ubuntu
#   halflight-VERSION-source.tar.gz         the source
#   halflight-….crate                       the accountant and what it stands on, for crates.io
#
# The program is static, so it runs on every Linux of x86-64, whatever its C library.
#
#   assets/release.sh [OUT]           makes them in OUT (target/dist), and tries them as a user would
#   assets/release.sh --twice [OUT]   makes them once more from a copy of the last commit in another
#                                     directory, and compares every byte
#
# Needs: rustup target add x86_64-unknown-linux-musl; cargo install cargo-deb --locked; and a Python
# with maturin and ziglang, a C compiler for musl (PYTHON=…/python, else python3). Two builds of one
# commit give the same bytes if the compiler and these tools are the same.
#
#   RELEASE_TARGET         the directory for builds
#   HALFLIGHT_MAINTAINER   who answers for the Debian package: "Name <address>"
set -eu
cd "$(dirname "$0")/.."
root=$PWD
twice=no
if [ "${1:-}" = --twice ]; then
    twice=yes
    shift
fi
out=${1:-target/dist}
python=${PYTHON:-python3}
triple=x86_64-unknown-linux-musl
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

missing() {
    echo "$1 is missing; what to do: $2" >&2
    exit 1
}
[ "$twice" = no ] || [ -z "$(git status --porcelain)" ] || missing "a clean tree" "commit, or stash"
cargo deb --version >/dev/null 2>&1 || missing cargo-deb "cargo install cargo-deb --locked"
"$python" -m maturin --version >/dev/null 2>&1 ||
    missing "maturin for $python" "pip install maturin, or PYTHON=…/python"
"$python" -m ziglang version >/dev/null 2>&1 ||
    missing "ziglang for $python" "pip install ziglang, or PYTHON=…/python"
[ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] ||
    missing "the target $triple" "rustup target add $triple"

# Whatever could differ between two builds: the time, places, the language, who may read.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export CARGO_TARGET_DIR="${RELEASE_TARGET:-$root/target/release-build}"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=debuginfo
export LC_ALL=C TZ=UTC
umask 022
registry=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="--remap-path-prefix=$root=/halflight --remap-path-prefix=$registry=/cargo \
--remap-path-prefix=$CARGO_TARGET_DIR=/target --remap-path-prefix=$(rustc --print sysroot)=/rust"

# The allocator is the one part in C. It is faster than that of musl.
tools=$CARGO_TARGET_DIR/tools
mkdir -p "$tools"
printf '#!/bin/sh\nexec "%s" -m ziglang cc -target x86_64-linux-musl "$@"\n' "$python" >"$tools/cc"
printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$python" >"$tools/ar"
chmod +x "$tools/cc" "$tools/ar"
export CC_x86_64_unknown_linux_musl="$tools/cc" AR_x86_64_unknown_linux_musl="$tools/ar"
# cc names the processor in a way that zig does not know.
export CRATE_CC_NO_DEFAULTS=1 CFLAGS_x86_64_unknown_linux_musl="-O3 -fPIC"

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/halflight* "$out"/SHA256SUMS

cargo build --release --locked --features mimalloc --target "$triple"
built=$CARGO_TARGET_DIR/$triple/release
program=$built/halflight

# What goes beside the program. cargo-deb looks for it there.
beside=$built/beside
rm -rf "$beside"
mkdir -p "$beside/completions"
"$program" man --out "$beside/man" --quiet
cp -r "$beside/man" "$beside/packed-man"
gzip -n -9 "$beside/packed-man"/*.1
"$program" completions bash >"$beside/completions/halflight.bash"
"$program" completions zsh >"$beside/completions/_halflight"
"$program" completions fish >"$beside/completions/halflight.fish"

packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT
name=halflight-$version-x86_64-linux
mkdir "$packed/$name"
cp -r "$program" "$beside/man" "$beside/completions" LICENSE README.md "$packed/$name"
cp -r assets/guide "$packed/$name"
tar --create --directory "$packed" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner --mode='u+rw,go+r,go-w' "$name" | gzip -n -9 >"$out/$name.tar.gz"

# A static program needs no C library at all, so the wheel is for both families of Linux.
(cd assets/python && "$python" -m maturin build --release --locked --features mimalloc \
    --target "$triple" --compatibility manylinux2014 musllinux_1_1 --out "$out")

cargo deb --no-build --no-strip --target "$triple" --output "$out" \
    ${HALFLIGHT_MAINTAINER:+--maintainer "$HALFLIGHT_MAINTAINER"}

git archive --format=tar --prefix="halflight-$version/" HEAD | gzip -n -9 >"$out/halflight-$version-source.tar.gz"

# Cargo builds the crates as they will be handed out, but keeps no file of a rehearsed publication.
crates="-p halflight-base -p halflight-numeric -p halflight-dp"
# shellcheck disable=SC2086 # one word for each
[ -n "${RELEASE_AGAIN:-}" ] || cargo publish --dry-run --locked $crates
# shellcheck disable=SC2086
cargo package --locked --no-verify $crates
for crate in base numeric dp; do
    cp "$CARGO_TARGET_DIR/package/halflight-$crate-$version.crate" "$out"
done

(cd "$out" && sha256sum halflight* >SHA256SUMS)
cat "$out/SHA256SUMS"
[ -n "${RELEASE_AGAIN:-}" ] || PYTHON="$python" assets/try_packages.sh "$out"

if [ "$twice" = yes ]; then
    git clone --quiet "$root" "$packed/elsewhere"
    RELEASE_AGAIN=yes RELEASE_TARGET="$packed/build" \
        "$packed/elsewhere/assets/release.sh" "$packed/again" >/dev/null
    if cmp "$out/SHA256SUMS" "$packed/again/SHA256SUMS"; then
        echo "the second build has the same bytes"
    else
        diff "$out/SHA256SUMS" "$packed/again/SHA256SUMS" >&2 || true
        echo "the second build differs" >&2
        exit 1
    fi
fi
