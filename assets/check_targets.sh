#!/bin/sh
# Type-checks the program for other systems, as far as their standard libraries are there, and says of
# each what was found. `rustup target add TARGET` brings one. Nothing is linked or run: that needs
# the system itself.
#
#   assets/check_targets.sh [TARGET...]
set -eu
cd "$(dirname "$0")/.."
library=$(rustc --print sysroot)/lib/rustlib
targets=${*:-x86_64-pc-windows-gnu x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-apple-darwin \
    aarch64-unknown-linux-gnu aarch64-unknown-linux-musl x86_64-unknown-linux-musl}
failed=0
for target in $targets; do
    if [ ! -d "$library/$target" ]; then
        echo "$target: not checked, its standard library is missing: rustup target add $target"
    elif RUSTFLAGS="-D warnings" cargo check --quiet --locked --lib --bins --target "$target"; then
        echo "$target: type-checks"
    else
        echo "$target: does not type-check"
        failed=1
    fi
done
exit $failed
