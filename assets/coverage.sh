#!/usr/bin/env bash
# Which share of the lines of a folder the tests reach, without the lines of the tests themselves.
# Needs `cargo install cargo-llvm-cov` and `rustup component add llvm-tools`; takes half an hour.
#   assets/coverage.sh [FOLDER…]     (src/privacy-inside, src/dp and src/session without one)
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- src/privacy-inside src/dp src/session
echo "halflight $(git rev-parse --short HEAD), $(date -u +%F)"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
# Programs that tests kill leave broken profiles.
cargo llvm-cov --lcov --output-path "$report" --ignore-run-fail --failure-mode all >&2
for folder in "$@"; do
    awk -F'[:,]' -v folder="/$folder/" '
        # From `#[cfg(test)]` on a file holds its tests.
        function first_test(path, line, number) {
            while ((getline line < path) > 0) {
                number++
                if (line ~ /^#\[cfg\(test\)\]/) { close(path); return number }
            }
            close(path)
            return 1e9
        }
        /^SF:/ { path = $2; here = index(path, folder) && path !~ /tests?\.rs$/; if (here) until = first_test(path) }
        /^DA:/ && here && $2 < until { lines++; all[path]++; if ($3 > 0) { reached++; hit[path]++ } }
        END {
            printf "%s: %.1f %% of %d lines\n", substr(folder, 2), 100 * reached / lines, lines
            for (path in all) if (hit[path] < 0.8 * all[path])
                printf "  %5.1f %% of %4d  %s\n", 100 * hit[path] / all[path], all[path], path
        }' "$report"
done
