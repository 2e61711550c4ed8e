//! Children that end with whoever started them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill what this command starts when the thread that starts it ends, however that ends (prctl(2), PR_SET_PDEATHSIG). A child that
/// becomes another user later, or is started set-uid, is let go of.
pub fn tie(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    // SAFETY: between fork and exec only calls are made that are safe there (signal-safety(7)): prctl and getppid, with integers, and an
    // error from a number is made without allocation.
    unsafe {
        command.pre_exec(move || {
            super::kernel::check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0).into())?;
            // It may have ended before that was said.
            match u32::try_from(libc::getppid()) == Ok(parent) {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        })
    }
}
