#!/usr/bin/env bash
# Everything of which `cargo test` does a part: crashes, failures and torn writes at every step by
# which something comes to the disk, power failures after every such step, random commands against
# a model of what may be spent and of the whole program, kills at any time, damaged files of every
# format, random keys and sizes in the interface. It takes some hours on two cores.
# HALFLIGHT_SEED=… repeats what was found.
#   assets/harness.sh [failpoints | power_loss | readers | saving | commands | machine |
#       damaged_files | damaged_networks | random_keys | random_resizes | timed_kills]...
set -uo pipefail
cd "$(dirname "$0")/.."
export HALFLIGHT_HARNESS=long
echo "halflight $(git rev-parse --short HEAD), $(date -u +%F)"
(($#)) || set -- failpoints power_loss readers saving commands machine damaged_files \
    damaged_networks random_keys random_resizes timed_kills
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for name in "$@"; do
    case $name in
    machine) target=--lib ;;
    damaged_files) target="--test hostile_files" ;;
    damaged_networks) target="--lib --features onnx" ;;
    random_keys | random_resizes | timed_kills) target="--test whole" ;;
    *) target="--test harness" ;;
    esac
    # shellcheck disable=SC2086 # two words
    cargo test $target -- "$name" --nocapture >"$log" 2>&1 || failed=1
    grep -E "SEED|points|moments, |copies|sequences|games|kills|broken|test result|panicked" "$log"
done
exit $failed
