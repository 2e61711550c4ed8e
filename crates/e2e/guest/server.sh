# Functions for the checks of tests/server.rs inside a virtual machine, read before the list of them. Everything is
# written in parts: a line `@part NAME CODE`, and what the command said on standard output; its standard error follows
# as a part `NAME.errors` where there is any.

CPUS=/sys/devices/system/cpu
GROUPS_ROOT=/sys/fs/cgroup
TRACE=/sys/kernel/tracing
export TAUTO_DATA_DIR=/run/tauto

part() { # name command…
    part=$1
    shift
    "$@" </dev/null >/run/out 2>/run/errors
    echo "@part $part $?"
    cat /run/out
    echo
    echo "@part $part.errors 0"
    cat /run/errors
    echo
}

# Every file that tuning touches, and its neighbours, as `file:line`; then the CPUs of tasks that can be moved. Left out:
# what counts or draws numbers, what cannot be read, and what a read sets off.
# Not the clock source: nothing of ours sets it, and the kernel leaves the TSC by itself where emulation is too uneven for its watchdog.
snapshot() {
    find /proc/sys/kernel /proc/sys/vm -type f ! -path '*/random/*' ! -path '*/pty/nr' ! -name ns_last_pid \
        ! -name stat_refresh ! -name drop_caches ! -name compact_memory -exec grep -sH '' {} +
    find /proc/irq \( -name 'smp_affinity*' -o -name default_smp_affinity \) -exec grep -sH '' {} +
    find /sys/devices/virtual/workqueue -name cpumask -exec grep -sH '' {} +
    grep -sH '' $CPUS/online $CPUS/offline $CPUS/isolated $CPUS/cpu*/online $CPUS/smt/* \
        /sys/devices/system/node/node*/cpulist /sys/class/net/*/queues/*/?ps_cpus \
        /sys/kernel/mm/ksm/run /sys/kernel/mm/transparent_hugepage/enabled \
        /sys/kernel/mm/transparent_hugepage/defrag /sys/kernel/mm/transparent_hugepage/khugepaged/defrag
    find $GROUPS_ROOT -type d
    grep -sH '' $GROUPS_ROOT/cgroup.subtree_control $GROUPS_ROOT/cpuset.*.effective
    # Of kernel threads those that may be moved: PF_NO_SETAFFINITY is 1 << 26 of field 9, proc_pid_stat(5).
    awk 'FNR == 1 { name = $2 }
        /^PPid:/ { parent = $2 }
        /^Cpus_allowed_list:/ {
            file = FILENAME
            sub(/status$/, "stat", file)
            getline stat <file
            close(file)
            sub(/.*\) /, "", stat)
            split(stat, fields, " ")
            movable = int(fields[7] / 67108864) % 2 == 0
            if (movable && (parent == 2 || name == "sleep")) print FILENAME, name, $2
        }' /proc/[0-9]*/status 2>/dev/null
}

# What differs from the snapshot taken first.
changed() {
    snapshot | sort >/run/after
    diff -U 0 /run/before /run/after | grep '^[-+][^-+]'
    true
}

# Tasks that somebody else has bound, one to the first CPU and one to the last.
bystanders() {
    taskset -c 0 sleep 1000 &
    taskset -c "$(sed 's/.*[-,]//' $CPUS/online)" sleep 1000 &
    sleep 0.2
}

# A file that can be read and not written.
seal() { # file
    mount --bind "$1" "$1"
    mount -o remount,bind,ro "$1"
}

remember() {
    snapshot | sort >/run/before
}

# Audit, apply, look, undo: what every machine goes through. Between apply and undo comes what a machine has of its own.
round() { # command…
    # A first run hands controllers down from the root of the control groups, as systemd does elsewhere.
    part run_before tauto run --json --slot 0 --stdout /run/pages_before --memory 256M -- /vm/placement-pages
    part pages_before cat /run/pages_before
    remember
    part files wc -l /run/before
    part audit_before tauto audit --json
    part slots_before tauto slots --json
    part plan tauto tune plan --json
    part plan_changed changed
    part apply tauto tune apply --json --no-measure
    part audit_after tauto audit --json
    part slots_after tauto slots --json
    part status_after tauto tune status --json
    part run_after tauto run --json --slot 0 --stdout /run/pages_after --memory 256M -- /vm/placement-pages
    part pages_after cat /run/pages_after
    part partitions partitions
    "$@"
    part undo tauto tune undo --json
    part undone changed
    part status_end tauto tune status --json
    part left find $GROUPS_ROOT -name 'tauto*'
}

# The partitions as the kernel has them: `group: CPUs, state`.
partitions() {
    for group in "$GROUPS_ROOT"/tauto-slot-*; do
        [ -d "$group" ] || continue
        echo "${group##*/}: $(cat "$group/cpuset.cpus"), $(cat "$group/cpuset.cpus.partition")"
    done
    echo "rest: $(cat $GROUPS_ROOT/cpuset.cpus.effective)"
    echo "online: $(cat $CPUS/online)"
}

# Loads on every CPU but those of the partition named: outside all partitions, and inside each other one. Where there is no partition,
# on the CPU named.
fill_others() { # group cpu
    only=
    if [ "$1" = none ]; then only=$2; fi
    tauto load --seconds 120 ${only:+--cpus "$only"} 2>/dev/null &
    loads=$!
    for group in "$GROUPS_ROOT"/tauto-slot-*; do
        if [ ! -d "$group" ] || [ "${group##*/}" = "$1" ]; then continue; fi
        # shellcheck disable=SC2016
        sh -c 'echo 0 >"$0/cgroup.procs" && exec tauto load --seconds 120' "$group" 2>/dev/null &
        loads="$loads $!"
    done
    for pid in $loads; do
        until grep -q '^load-' /proc/"$pid"/task/*/comm; do usleep 20000; done
    done 2>/dev/null
}

# Who is scheduled on a CPU, and how often, while one run has it and a load has all others: `COUNT own|idle|bound|foreign
# NAME`, with `lost` for what the trace could not hold.
watch() { # group cpu seconds
    mount -t tracefs trace $TRACE 2>/dev/null
    fill_others "$1" "$2"
    echo 4096 >$TRACE/buffer_size_kb
    printf '%x\n' $((1 << $2)) >$TRACE/tracing_cpumask
    echo 1 >$TRACE/events/sched/sched_switch/enable
    echo >$TRACE/trace
    echo 1 >$TRACE/tracing_on
    tauto run --json --slot 0 --cpu-time "$3" -- /vm/cpu-loop >/run/watched 2>&1
    echo 0 >$TRACE/tracing_on
    sed -n 's/.* next_comm=\(.*\) next_pid=\([0-9]*\) .*/\2 \1/p' $TRACE/trace | sort | uniq -c >/run/seen
    echo "$(sed -n 's/^overrun: //p' $TRACE/per_cpu/cpu"$2"/stats) lost"
    while read -r count pid name; do
        echo "$count $(kind_of "$2" "$pid" "$name") $name"
    done </run/seen
    # shellcheck disable=SC2086
    kill -INT $loads
    for pid in $loads; do
        wait "$pid"
        echo "$? load"
    done
}

kind_of() { # cpu pid name
    case " $loads " in *" $2 "*) echo foreign && return ;; esac
    case $3 in
    swapper/*) echo idle ;;
    # By the launcher's name until the program is there.
    cpu-loop | exe) echo own ;;
    # Numbered by the CPU they are bound to; a worker may be gone by now.
    ksoftirqd/"$1" | migration/"$1" | cpuhp/"$1" | kworker/"$1":* | idle_inject/"$1" | rcuop/"$1" | rcuc/"$1") echo bound ;;
    *) echo foreign ;;
    esac
}

# A run while somebody else's memory comes back from swap, and one when it is back.
swap() {
    mkswap /dev/nvme0n1 >/dev/null && swapon /dev/nvme0n1 || return
    echo +memory >$GROUPS_ROOT/cgroup.subtree_control
    mkdir $GROUPS_ROOT/cold
    sh -c "echo 0 >$GROUPS_ROOT/cold/cgroup.procs && dd if=/dev/zero of=/tmp/cold bs=1M count=64" 2>/dev/null
    # It gives back what it could not reclaim as an error.
    echo 64M >$GROUPS_ROOT/cold/memory.reclaim 2>/dev/null
    (sleep 0.5 && cat /tmp/cold >/dev/null) &
    tauto run --json --slot 0 --cpu-time 2 -- /vm/cpu-loop
    wait $!
    cat /tmp/cold >/dev/null
    tauto run --json --slot 0 --cpu-time 1 -- /vm/cpu-loop
    rm /tmp/cold
    swapoff /dev/nvme0n1
    rmdir $GROUPS_ROOT/cold
}

# Two runs at once, neither of which names a slot. They overlap on a slow host, too: to start one takes seconds there.
neighbours() {
    tauto run --json --slot auto --cpu-time 5 -- /vm/cpu-loop >/run/neighbour 2>/dev/null &
    tauto run --json --slot auto --cpu-time 5 -- /vm/cpu-loop 2>/dev/null
    wait $!
    cat /run/neighbour
}

# Kills an apply at its first half of a change, in the middle and at its end, and undoes: `HALF KILLED UNDONE`, the exit codes,
# and what differed after. Every half is tried on a machine of files, by tests of `tune`.
cut_off() { # changes
    remember
    for half in 1 "$1" $((2 * $1)); do
        tauto tune apply --json --no-measure --pause-at $half >/run/applied 2>&1 &
        pid=$!
        stops $pid || echo "$half was never reached"
        kill -9 $pid 2>/dev/null
        wait $pid
        killed=$?
        tauto tune undo --json >/run/undone 2>&1
        echo "$half $killed $?"
        changed
    done 2>/dev/null
}

# Waits until a process has been stopped, which is good, or has ended.
stops() { # pid
    while read -r line </proc/"$1"/stat; do
        case ${line##*)} in
        " T "*) return 0 ;;
        " Z "* | " X "*) return 1 ;;
        esac
        usleep 5000
    done
    return 1
}

# The experiments on an untuned machine, very small; what they leave changed, and what one that is killed in its partition
# leaves to the next call.
laboratory() {
    tauto run -- true
    remember
    part ladder tauto lab ladder --json -n 1 --numbers 100000 --record /run/ladder --html /run/ladder.html
    part ladder_page grep -c '<svg' /run/ladder.html
    part ladder_changed changed
    part perturb tauto lab perturb --json -n 1 --numbers 100000 --html /run/perturb.html
    part perturb_page grep -c '<svg' /run/perturb.html
    part perturb_changed changed
    part cut_in_partition cut_in_partition
    part cut_put_back changed
}

# Kills a ladder in its isolated partition: what has changed then, how many loads there are, and what the next call says. It resumes the
# first ladder just before stage 5, which has a partition and loads.
cut_in_partition() {
    sed '/"stage":5/,$d' /run/ladder >/run/cut
    tauto lab ladder --json -n 1 --numbers 100000 --record /run/cut >/dev/null 2>&1 &
    pid=$!
    until grep -qs '"stage":5' /run/cut; do
        kill -0 $pid || return
        usleep 20000
    done
    kill -9 $pid
    wait $pid
    echo "killed $?"
    for group in "$GROUPS_ROOT"/tauto-slot-*; do echo "${group##*/} $(cat "$group/cpuset.cpus.partition")"; done
    # The kernel is still ending it.
    sleep 1
    echo "loads $(cat /proc/[0-9]*/task/*/comm 2>/dev/null | grep -c '^load-')"
    tauto slots --json 2>&1 >/run/slots
    echo "next $?"
    tauto slots --json 2>&1 >/run/slots
}
