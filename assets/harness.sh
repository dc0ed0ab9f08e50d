#!/usr/bin/env bash
# Everything of which `cargo test` does a part: crashes, failures and torn writes at every step by
# which something comes to the disk, power failures after every such step, random commands against
# a model of what may be spent, damaged files of every format, random keys in the interface. It
# takes some hours on two cores. HALFLIGHT_SEED=… repeats what was found.
#   assets/harness.sh [failpoints | power_loss | readers | machine | damaged_files | random_keys]...
set -uo pipefail
cd "$(dirname "$0")/.."
export HALFLIGHT_HARNESS=long
echo "halflight $(git rev-parse --short HEAD), $(date -u +%F)"
(($#)) || set -- failpoints power_loss readers machine damaged_files random_keys
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for name in "$@"; do
    case $name in
    machine) target=--lib ;;
    damaged_files) target="--test hostile_files" ;;
    random_keys) target="--test terminal" ;;
    *) target="--test harness" ;;
    esac
    # shellcheck disable=SC2086 # two words
    cargo test $target -- "$name" --nocapture >"$log" 2>&1 || failed=1
    grep -E "SEED|points: |moments, |copies|sequences: |games|broken|test result|panicked" "$log"
done
exit $failed
