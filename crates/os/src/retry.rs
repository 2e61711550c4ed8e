//! Refusals for a moment: what the man pages say a caller may try again.
//!
//! One bounded rule for all of them. A call that is still refused after its patience fails with the kernel's reason and
//! the time that was waited, so that nobody takes it for a refusal at first sight.

use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// How long a call is repeated where nothing else is known about it.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Opening a file: a signal came, a lease is being given back (open(2), EWOULDBLOCK), or the machine has no file
/// structure left.
pub const OPENING: &[Errno] = &[Errno::INTR, Errno::AGAIN, Errno::NFILE];

/// Starting a program: as opening it; or somebody still writes it, or holds a descriptor of that from before a fork.
pub const STARTING: &[Errno] = &[Errno::INTR, Errno::AGAIN, Errno::NFILE, Errno::TXTBSY];

/// Writing a control file or removing a group: the kernel has not finished what came before.
pub const CONTROLLING: &[Errno] = &[Errno::INTR, Errno::AGAIN, Errno::BUSY];

/// Repeats `call` while it fails with one of `errors`, for at most `patience`.
///
/// # Errors
/// What the call fails with; where that is one of `errors`, with the time for which it was repeated.
pub fn repeat<T>(
    errors: &[Errno],
    patience: Duration,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        let error = match call() {
            Err(e) if Errno::from_io_error(&e).is_some_and(|errno| errors.contains(&errno)) => e,
            done => return done,
        };
        let waited = start.elapsed();
        if waited >= patience {
            return Err(still(&error, waited));
        }
        std::thread::sleep(pause.min(patience - waited));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn still(error: &io::Error, waited: Duration) -> io::Error {
    let remedy = match Errno::from_io_error(error) {
        Some(Errno::AGAIN) => "; another program holds it (a file lease, or no process or memory is left)",
        Some(Errno::NFILE) => "; too many files are open on this machine (fs.file-max)",
        Some(Errno::TXTBSY) => "; another program has it open for writing",
        Some(Errno::BUSY) => "; it is in use",
        _ => "",
    };
    let waited = waited.as_secs_f64();
    io::Error::new(error.kind(), format!("{error}, repeated for {waited:.1} s{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails so many times with an error.
    fn failing(times: usize, errno: Errno) -> impl FnMut() -> io::Result<usize> {
        let mut calls = 0;
        move || {
            calls += 1;
            if calls > times { Ok(calls) } else { Err(errno.into()) }
        }
    }

    #[test]
    fn a_refusal_for_a_moment_is_repeated_and_another_is_not() {
        for errno in [Errno::INTR, Errno::AGAIN, Errno::NFILE] {
            assert_eq!(repeat(OPENING, PATIENCE, failing(3, errno)).unwrap(), 4);
        }
        for (errors, errno) in [(OPENING, Errno::NOENT), (OPENING, Errno::BUSY), (CONTROLLING, Errno::TXTBSY)]
        {
            let error = repeat(errors, PATIENCE, failing(1, errno)).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(errno.raw_os_error()));
        }
    }

    #[test]
    fn what_does_not_pass_says_how_long_it_was_repeated() {
        let patience = Duration::from_millis(110);
        let start = Instant::now();
        let error = repeat(STARTING, patience, failing(usize::MAX, Errno::TXTBSY)).unwrap_err();
        assert!(start.elapsed() >= patience);
        assert_eq!(error.kind(), io::ErrorKind::ExecutableFileBusy);
        let text = error.to_string();
        let told = text.strip_prefix("Text file busy (os error 26), repeated for ").expect(&text);
        let (seconds, remedy) = told.split_once(" s; ").expect(&text);
        assert!((0.1..=start.elapsed().as_secs_f64() + 0.05).contains(&seconds.parse().unwrap()), "{text}");
        assert_eq!(remedy, "another program has it open for writing");
    }
}
