use super::*;
use crate::sys::{ChildFailure, InitStack, Op};
use rustix::fd::AsFd;
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;

fn count(value: u64, enabled: u64, running: u64) -> Count {
    Count { value, enabled: Nanos(enabled), running: Nanos(running) }
}

fn open(events: &Events, begin: Begin) -> Counter {
    Counter::open(events, begin, || Err(io::Error::other("not asked")))
        .expect("every kernel has a task clock")
}

#[test]
fn only_a_count_of_everything_is_one() {
    let user = Nanos(1000 * MS);
    assert_eq!(count(7, 1000 * MS, 1000 * MS).judge(user), Reading::Known(7));
    for (count, why) in [
        (count(0, 0, 0), "was not switched on"),
        (count(0, 1000 * MS, 0), "another user holds the counter"),
        (count(7, 1000 * MS, 500 * MS), "it counted 50.0 % of the time"),
        // One nanosecond is missing.
        (count(7, 1000 * MS, 1000 * MS - 1), "it counted 99.9 % of the time"),
        (count(0, 1000 * MS, 1000 * MS), "counts nothing"),
        (count(7, 100 * MS, 100 * MS), "100 ms of 1000 ms were counted"),
    ] {
        let Reading::Unknown(told) = count.judge(user) else { panic!("{count:?} is a count") };
        assert!(told.contains(why), "{count:?}: {told}");
    }
}

#[test]
fn user_time_may_seem_longer_by_some_ticks_only() {
    let judged = |user: u64| count(7, 800 * MS, 800 * MS).judge(Nanos(user)).known().is_some();
    assert!(judged(800 * MS) && judged(920 * MS));
    assert!(!judged(920 * MS + 1));
}

#[test]
fn the_next_look_comes_before_much_can_have_been_counted() {
    let second = 1_000_000_000;
    // All of it and half a thousandth, at 48 instructions in a nanosecond.
    assert_eq!(next_look(second, 0, 1, false), Nanos(20_843_750));
    assert_eq!(next_look(second, 0, 4, false), Nanos(5_210_937));
    assert_eq!(next_look(second, second, 1, false), SHORTEST);
    assert_eq!(next_look(1000 * second, 1000 * second, 1, false), Nanos(10_416_666));
    assert_eq!(next_look(second, second, 1, true), SHORTEST_IDLE);
    assert_eq!(next_look(second, 0, 1, true), Nanos(20_843_750), "far from the limit idling changes nothing");
    // Neither a limit that was passed nor one that cannot be is a fault.
    assert_eq!(next_look(5, u64::MAX, 0, false), SHORTEST);
    assert!(next_look(u64::MAX, 0, 1, false) > Nanos::from_secs(3600));
}

/// How far past its limit a program is seen that counts so many instructions in a nanosecond on each CPU, and after how many looks. Each
/// look comes 5 µs late.
fn simulated(limit: u64, rate: f64, cpus: u64) -> (u64, u64) {
    let (mut now, mut last, mut looks) = (0u64, 0, 0);
    loop {
        looks += 1;
        let counted = (now as f64 * rate * cpus as f64) as u64;
        if counted > limit {
            return (counted - limit, looks);
        }
        now += next_look(limit, counted, cpus, looks > 1 && counted == last).0 + 5_000;
        last = counted;
    }
}

#[test]
fn a_limit_of_a_second_and_more_is_held_to_a_thousandth() {
    for limit in [1_000_000_000, 10_000_000_000, 1_000_000_000_000] {
        for (rate, cpus) in [(0.5, 1), (4.0, 1), (12.0, 1), (24.0, 1), (4.0, 4), (1.0, 16)] {
            let (over, looks) = simulated(limit, rate, cpus);
            assert!(over <= limit / 1000, "{limit} at {rate} on {cpus}: {over} too many");
            assert!(looks < 2000, "{limit} at {rate} on {cpus}: {looks} looks");
        }
    }
}

#[test]
fn refusals_name_the_remedy() {
    for (errno, level, why) in [
        (libc::ENOENT, "2", "no such counter"),
        (libc::EOPNOTSUPP, "2", "no such counter"),
        (libc::ENODEV, "2", "no such counter"),
        (
            libc::EACCES,
            "4\n",
            "kernel.perf_event_paranoid is 4, which keeps counters to root\nhint: sysctl -w kernel.perf_event_paranoid=2",
        ),
        (libc::EPERM, "3\n", "kernel.perf_event_paranoid is 3, which"),
        (libc::EPERM, "2\n", "although kernel.perf_event_paranoid is 2: a container's"),
        (libc::EPERM, "-1\n", "although kernel.perf_event_paranoid is -1: a container's"),
        (libc::EPERM, "", "cannot be read"),
        (libc::EBUSY, "2", "for itself alone"),
        (libc::EMFILE, "2", "ulimit -n"),
        (libc::ENOSYS, "2", "CONFIG_PERF_EVENTS"),
        (libc::EINVAL, "2", "Invalid argument"),
    ] {
        let told = Counter::open(&Events::Refused(errno), Begin::Exec, || Ok(level.into())).unwrap_err();
        assert!(told.contains(why), "errno {errno} at {level:?}: {told}");
    }
    let unread = || Err(io::Error::other("no /proc"));
    let told = Counter::open(&Events::Refused(libc::EACCES), Begin::Exec, unread).unwrap_err();
    assert!(told.contains("cannot be read"), "{told}");
}

#[test]
fn a_script_says_its_last_word_again() {
    let counter = open(&Events::Script(vec![count(1, 1, 1), count(2, 2, 1)]), Begin::Exec);
    let read: Vec<u64> = (0..4).map(|_| counter.read().unwrap().value).collect();
    assert_eq!(read, [1, 2, 2, 2]);
    assert!(open(&Events::Script(vec![]), Begin::Exec).read().is_err());
}

#[test]
fn a_counter_is_tried_before_it_is_called_one() {
    assert_eq!(try_out(&Events::TaskClock, 1), Ok(()), "a counter that counts");
    for (events, why) in [
        (Events::Script(vec![count(TRIED, MS, MS)]), None),
        (Events::Script(vec![count(TRIED - 1, MS, MS)]), Some("miscounts: 999999 of at least 1000000")),
        (Events::Script(vec![count(0, MS, MS)]), Some("counts nothing")),
        (Events::Script(vec![count(0, MS, 0)]), Some("another user holds")),
        (Events::Script(vec![count(TRIED, MS, MS / 4)]), Some("25.0 %")),
        (Events::Script(vec![]), Some("reading the counter")),
        (Events::Refused(libc::ENOENT), Some("no such counter")),
    ] {
        let told = try_out(&events, TRIED).err();
        assert_eq!(told.is_some(), why.is_some(), "{events:?}: {told:?}");
        assert!(told.clone().unwrap_or_default().contains(why.unwrap_or_default()), "{events:?}: {told:?}");
    }
}

/// A child that keeps the kernel busy before its exec, as our plans do, then is /bin/true: what the counter of this kind saw, and
/// the child's whole CPU time.
fn busy_before_exec(begin: Begin) -> (Count, Nanos) {
    let counter = open(&Events::TaskClock, begin);
    let mut bytes = vec![0u8; 16 << 20];
    let draw = [bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0, 0];
    let (path, arguments) = (c"/bin/true", [c"true".as_ptr() as usize, 0]);
    let exec =
        [path.as_ptr() as usize, arguments.as_ptr() as usize, arguments[1..].as_ptr() as usize, 0, 0, 0];
    let op = |nr, args| Op { step: 0, optional: false, nr, args };
    let ops = [[op(libc::SYS_getrandom, draw); 4].as_slice(), &[op(libc::SYS_execve, exec)]].concat();
    let mut failure = ChildFailure::default();
    let (_, child) = sys::spawn_program(&ops, InitStack::leaked(), None, &mut failure).unwrap();
    assert_eq!(failure.errno, 0);
    let patience = Instant::now() + Duration::from_secs(10);
    let death = loop {
        match sys::peek_death(child.as_fd()).unwrap() {
            Some(death) => break death,
            None => assert!(Instant::now() < patience, "/bin/true goes on"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let count = counter.read().unwrap();
    sys::reap(child.as_fd()).unwrap();
    (count, death.user + death.system)
}

#[test]
fn nothing_before_exec_counts() {
    let (count, cpu) = busy_before_exec(Begin::Exec);
    assert!(count.value > 0 && count.shared().is_none(), "/bin/true is counted: {count:?}");
    assert!(cpu > Nanos(4 * count.enabled.0), "of {cpu:?} what came before exec is left out: {count:?}");
    // The same child, counted from the start.
    let (count, cpu) = busy_before_exec(Begin::Now);
    assert!(cpu < Nanos(4 * count.enabled.0), "of {cpu:?} all is counted: {count:?}");
}
