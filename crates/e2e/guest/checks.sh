# Functions for the checks of tests/vm.rs inside a virtual machine, read before the list of them. Each check writes a
# part of its own: `@check NAME`, what it says on standard output, `@code`, `@errors`, `@left`.

DELEGATED=/sys/fs/cgroup/delegated
mounts=$(wc -l </proc/mounts)

check() { # name command…
    echo "@check $1"
    shift
    "$@" </dev/null >/run/out 2>/run/errors
    code=$?
    cat /run/out
    echo
    echo "@code $code"
    echo "@errors"
    cat /run/errors
    echo "@left"
    left
}

# What must not be there between two runs: processes but those of busybox, groups, mounts, files, and controllers that
# would keep the delegated group from taking processes in.
left() {
    ls -l /proc/[0-9]*/exe 2>/dev/null | grep ' -> ' | grep -v /bin/busybox
    find /sys/fs/cgroup -name 'tauto*'
    [ "$(wc -l </proc/mounts)" = "$mounts" ] || cat /proc/mounts
    find /tmp -mindepth 1
    if [ -d $DELEGATED ]; then cat $DELEGATED/cgroup.subtree_control; fi | grep .
    true
}

root() { tauto run --json "$@"; }
user() { su user -c 'exec tauto run --json "$@"' - -- "$@"; }

# A group given to the user as cgroup-v2.rst says, "Model of Delegation".
delegate() {
    echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir $DELEGATED
    chown user $DELEGATED $DELEGATED/cgroup.procs $DELEGATED/cgroup.threads $DELEGATED/cgroup.subtree_control
}

# Starts a command in that group, in place of the shell that entered it; or, where all of tauto was killed and the group
# still hands controllers on, in the group it had stepped into.
inside() {
    # shellcheck disable=SC2016
    sh -c '{ echo $$ >"$0/cgroup.procs" || echo $$ >"$0/tauto/cgroup.procs"; } 2>/dev/null && exec "$@"' $DELEGATED "$@"
}

delegated() { inside su user -c 'exec tauto run --json "$@"' - -- "$@"; }
# Under a shell that lives in the group too and goes on afterwards.
beside() { inside su user -c 'tauto run --json "$@"; exit $?' - -- "$@"; }
root_beside() { inside sh -c 'tauto run --json "$@"; exit $?' - "$@"; }
# Two at the same time.
pair() {
    # shellcheck disable=SC2016
    inside su user -c 'tauto run --json "$@" >/dev/shm/1 & tauto run --json "$@"; wait; cat /dev/shm/1; rm /dev/shm/1' - -- "$@"
}

# Starts a run, kills processes of tauto in the middle of it, and waits for what is left to go.
killed() { # caller|all command…
    whom=$1
    shift
    "$@" &
    until ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q ' -> /program/'; do usleep 20000; done
    pids=$(pidof tauto | tr ' ' '\n' | sort -n)
    # The caller is the oldest; its keeper and launcher are of the same executable.
    if [ "$whom" = caller ]; then pids=$(echo "$pids" | head -n 1); fi
    # shellcheck disable=SC2086
    kill -9 $pids
    wait
    for _ in $(seq 100); do
        if [ -z "$(left)" ]; then break; fi
        usleep 20000
    done
}

# Killed as a whole, nobody is left to remove groups: the next run does.
killed_then() { # as-whom
    killed all "$1" --wall-time 60 -- /vm/wall-sleep >/dev/null 2>&1
    "$1" -- /vm/basics-empty
}
