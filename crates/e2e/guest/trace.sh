# Functions for tests/numa_trace.rs inside a virtual machine, read after those of server.sh.

trace() { tauto numa trace --no-latency "$@"; }

# Who has no privilege: first as the distribution has it, then with counters allowed.
as_user() { # level
    echo "$1" >/proc/sys/kernel/perf_event_paranoid
    su user -c 'exec tauto numa trace --no-latency --json -- /vm/sum serial 4 32 20'
}

# A program that somebody else has started, and that goes on.
running() {
    /vm/sum serial 4 64 100000 >/dev/null &
    sleep 4
    tauto numa trace --no-latency --json --pid $! --seconds 4
    code=$?
    kill -0 $! && kill -9 $!
    return $code
}

# The program, not the tracer, is killed once it computes.
killed() {
    (sleep 6; kill -9 $(pidof sum)) &
    tauto numa trace --no-latency --json -- /vm/sum serial 4 64 100000
}

echo 0 >/proc/sys/kernel/numa_balancing
