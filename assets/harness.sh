#!/usr/bin/env bash
# Everything of which `cargo test` does a part: crashes, failures and torn writes at every step by
# which something comes to the disk, power failures after every such step, random commands against
# a model of what may be spent and of the whole program, kills at any time, damaged files of every
# format, random keys and sizes in the interface, whole commands on all pairs of neighbouring tables,
# and ten rounds of all random properties. Faults are planted to show that the tests of privacy find
# them. It takes some hours on two cores. HALFLIGHT_SEED=…, of properties PROPTEST_RNG_SEED=…,
# repeats what was found.
#   assets/harness.sh [failpoints | power_loss | readers | saving | commands | machine |
#       damaged_files | damaged_networks | random_keys | random_resizes | timed_kills |
#       site_deaths | neighbours | planted_faults | properties]...
set -uo pipefail
cd "$(dirname "$0")/.."
export HALFLIGHT_HARNESS=long
echo "halflight $(git rev-parse --short HEAD), $(date -u +%F)"
(($#)) || set -- failpoints power_loss readers saving commands machine damaged_files \
    damaged_networks random_keys random_resizes timed_kills site_deaths neighbours planted_faults properties
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Each round draws other cases; the seed is told, to repeat it.
properties() {
    for round in 1 2 3 4 5 6 7 8 9 10; do
        local seed=${PROPTEST_RNG_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
        echo "round $round: PROPTEST_RNG_SEED=$seed"
        HALFLIGHT_HARNESS='' PROPTEST_RNG_SEED=$seed cargo test --lib >"$log" 2>&1 || failed=1
        grep -E "test result|panicked|minimal failing" "$log"
        [ -z "${PROPTEST_RNG_SEED:-}" ] || break
    done
}

# Each leak and each fault of a mechanism in turn, in a build that nothing else uses.
planted_faults() {
    local tests
    for tests in "--test audit" "--test whole neighbours::every_planted" \
        "--lib unordered::every_planted"; do
        # shellcheck disable=SC2086 # several words
        cargo test --features planted-faults $tests -- --nocapture >"$log" 2>&1 || failed=1
        grep -E "^[A-Z][A-Za-z]+( \([0-9]|: )|not found|test result|panicked" "$log" | cut -c1-160
    done
}

for name in "$@"; do
    if [ "$name" = planted_faults ]; then
        planted_faults
        continue
    fi
    if [ "$name" = properties ]; then
        properties
        continue
    fi
    case $name in
    machine) target=--lib ;;
    damaged_files) target="--test hostile_files" ;;
    damaged_networks) target="--lib --features onnx" ;;
    random_keys | random_resizes | timed_kills | site_deaths | neighbours) target="--test whole" ;;
    *) target="--test harness" ;;
    esac
    # shellcheck disable=SC2086 # two words
    cargo test $target -- "$name" --nocapture >"$log" 2>&1 || failed=1
    grep -E "SEED|points|moments, |copies|sequences|games|kills|deaths|broken|test result|panicked" "$log"
done
exit $failed
