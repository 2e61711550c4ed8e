//! Ctrl-C and SIGTERM while runs are made.

use crate::terminal::Failure;
use sandbox::Ender;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set when the user wants no more. While it is, and somebody looks, whatever these launchers run is ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// To be asked for once in a process.
    pub(crate) fn ending(enders: Vec<Ender>) -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::default();
        let told = interrupt.0.clone();
        ctrlc::set_handler(move || {
            told.store(true, Ordering::SeqCst);
            // Again and again: the next run may be about to begin.
            while Arc::strong_count(&told) > 1 {
                enders.iter().for_each(|ender| ender.end_run(false));
                std::thread::sleep(Duration::from_millis(20));
            }
        })
        .map_err(Failure::system)?;
        Ok(interrupt)
    }

    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
