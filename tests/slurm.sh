#!/bin/sh
# A sweep on a real Slurm: one host, its own daemons, everything in a temporary directory.
#
#   sh tests/slurm.sh [HALFLIGHT]       (default: target/debug/halflight)
#
# Debian and Ubuntu: apt-get install slurmctld slurmd slurm-client munge. slurmd needs root.
# Where something is missing it says so and ends with 0: nothing was tested then.

set -eu

notice() {
    printf '\n*** NOTICE: tests/slurm.sh was SKIPPED: %s ***\n\n' "$1" >&2
    exit 0
}

PATH=$PATH:/usr/sbin:/sbin
for tool in sbatch squeue scancel scontrol slurmctld slurmd munged python3; do
    command -v "$tool" > /dev/null || notice "there is no $tool here"
done
[ "$(id -u)" = 0 ] || notice "slurmd needs root"

halflight=$(realpath "${1:-target/debug/halflight}")
[ -x "$halflight" ] || { echo "there is no $halflight: cargo build" >&2; exit 1; }

dir=$(mktemp -d)
chmod 755 "$dir"
mkdir "$dir/state" "$dir/spool"
host=$(hostname -s)
daemons=

end() {
    code=$?
    for daemon in $daemons; do kill "$daemon" 2> /dev/null || true; done
    wait
    if [ "$code" != 0 ]; then
        tail -n 20 "$dir"/*.log "$dir"/work/sweep*/slurm-*.out 2> /dev/null || true
    fi
    rm -rf "$dir"
    exit "$code"
}
trap end EXIT INT TERM

dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 2> /dev/null
chmod 400 "$dir/munge.key"
munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" \
    --pid-file="$dir/munge.pid" --log-file="$dir/munge.log" --seed-file="$dir/munge.seed" \
    > "$dir/munged.log" 2>&1 &
daemons="$daemons $!"

port=$(python3 -c 'import random; print(random.randrange(20000, 50000))')
cat > "$dir/slurm.conf" <<CONF
ClusterName=halflight
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
export SLURM_CONF="$dir/slurm.conf"

sleep 1
slurmctld -D > "$dir/slurmctld.log" 2>&1 &
daemons="$daemons $!"
slurmd -D -N "$host" > "$dir/slurmd.log" 2>&1 &
daemons="$daemons $!"

waited=0
until sinfo -h -o %t 2> /dev/null | grep -q idle; do
    waited=$((waited + 1))
    [ "$waited" -lt 60 ] || { echo "Slurm does not come up" >&2; exit 1; }
    sleep 0.5
done

mkdir "$dir/work"
cd "$dir/work"
python3 - <<'DATA'
import math
for name, rows, slope in (("private", 8000, 1.5), ("public", 12000, 1.0)):
    with open(name + ".csv", "w") as file:
        file.write("x,z,y\n")
        for i in range(rows):
            x, z = math.sin(i * 0.37), math.cos(i * 0.11)
            file.write(f"{x},{z},{slope * x - 0.5 * z + 0.1 * math.sin(i)}\n")
DATA
cat > session.ron <<'RON'
(
  version: 1,
  datasets: [
    (name: "ours", role: private, source: file("private.csv"), label: "y"),
    (name: "theirs", role: public, source: file("public.csv"), label: "y"),
  ],
  budgets: {"ours": (epsilon: 40.0, delta: 1e-5)},
  plans: [(
    name: "first", method: "profiled_cnvx_adap", private: "ours", public: ["theirs"],
    target: (epsilon: 1.0, delta: 1e-6),
  )],
)
RON

empty_queue() {
    waited=0
    while [ -n "$(squeue -h)" ]; do
        waited=$((waited + 1))
        [ "$waited" -lt 240 ] || { echo "the job array does not end" >&2; squeue; exit 1; }
        sleep 0.5
    done
}

# The number that the collection says of $2 in the sweep $1.
collected() {
    "$halflight" sweep --collect "$1" --json 2> /dev/null > collected.json || true
    python3 -c 'import json, sys; print(json.load(open("collected.json"))[sys.argv[1]])' "$2"
}

"$halflight" sweep session.ron --over epsilon=0.5,1,2 --over seed=0..3 \
    --on slurm --into "$dir/work/sweep1" --sbatch=--time=5
empty_queue
[ "$(collected sweep1 done)" = 12 ] || { cat collected.json >&2; exit 1; }

# One task is cancelled by the cluster: it delivers what it has. One is killed: it is
# missing and stays charged.
"$halflight" sweep session.ron --over steps=2000 --over seed=0..3 \
    --on slurm --into "$dir/work/sweep2" --json > job.json
job=$(python3 -c 'import json; print(json.load(open("job.json"))["slurm_job"])')

# The process that carries out a task of the second sweep.
begun() {
    waited=0
    until grep -q step "sweep2/runs/"*"$1"/events.jsonl 2> /dev/null; do
        waited=$((waited + 1))
        [ "$waited" -lt 1200 ] || { echo "the task does not begin" >&2; exit 1; }
        sleep 0.05
    done
    sed 's/process \([0-9]*\) .*/\1/' "sweep2/tasks/$2/claim"
}
run_of() {
    python3 -c 'import json, sys
print(json.load(open("sweep2/sweep.json"))["tasks"][int(sys.argv[1])]["run"])' "$1"
}
begun "$(run_of 0)" 0000 > /dev/null
scancel "${job}_0"
kill -9 "$(begun "$(run_of 2)" 0002)"
empty_queue
[ "$(collected sweep2 done)" = 3 ] || { cat collected.json >&2; exit 1; }
[ "$(collected sweep2 missing)" = 1 ] || { cat collected.json >&2; exit 1; }
grep -q '"state": "stopped"' collected.json || { cat collected.json >&2; exit 1; }
"$halflight" ledger verify

echo "tests/slurm.sh: $(sbatch -V) carried out 14 tasks, cancelled 1, which delivered what it had," \
    "and 1 was killed and is missing"
