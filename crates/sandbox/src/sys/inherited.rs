//! Whether the caller left standard output closed. Rust's runtime opens /dev/null in place of a closed standard stream before `main`, and
//! what is written there is lost without an error; so this looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when this process started.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: F_GETFD reads the flags of a descriptor, or fails where there is none; it touches no memory of ours.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

// What must hold: the section is an array of functions that the C library calls once each, before `main` and before there is a second thread
// (gABI, "Initialization and Termination Functions"). `look` is such a function and needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
