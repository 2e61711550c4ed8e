# Functions for tests/numa_trace.rs inside a virtual machine, read after those of server.sh.

trace() { tauto numa trace --no-latency --json "$@"; }

# Without privilege, at this level of kernel.perf_event_paranoid.
as_user() { # level
    echo "$1" >/proc/sys/kernel/perf_event_paranoid
    su user -c 'exec tauto numa trace --no-latency --json -- /vm/sum serial 4 32 60'
}

# A program that somebody else has started, and that goes on.
running() {
    /vm/sum serial 4 32 100000 >/dev/null &
    program=$!
    # Until the array is there: all of its pages.
    until awk '/anon=/ && /kernelpagesize/ { sub(/.*anon=/, ""); pages += $1 } END { exit pages < 8192 }' \
        /proc/$program/numa_maps; do
        sleep 0.2
    done
    # On a busy host, 5 s may allow too few looks for a diagnosis. Then watch again, as a user would.
    for _ in 1 2 3; do
        trace --pid $program --seconds 5 >/run/trace
        code=$?
        grep -q 'too little for a diagnosis' /run/trace || break
    done
    kill -0 $program && kill -9 $program
    cat /run/trace
    return $code
}

# The program, not the tracer, is killed while it computes.
killed() {
    (sleep 8 && kill -9 "$(pidof sum)") &
    trace -- /vm/sum serial 4 32 100000
}

all_placements() {
    echo 0 >/proc/sys/kernel/numa_balancing
    for how in serial parallel recycled interleave bind move; do
        part $how trace -- /vm/sum $how 4 32 60
    done
    part killed killed
    part running running
    # As Debian's kernels have it, and as others have.
    part barred as_user 3
    part user as_user 2
}
