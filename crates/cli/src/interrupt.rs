//! Ctrl-C and SIGTERM while runs are made.

use crate::isolation::RunEnder;
use crate::terminal::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Set when the user wants no more. While it is, and somebody looks, whatever these launchers run is ended.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
    enders: Arc<Mutex<Vec<RunEnder>>>,
}

impl Interrupt {
    /// To be asked for once in a process.
    pub(crate) fn ending(enders: Vec<impl Into<RunEnder>>) -> Result<Interrupt, Failure> {
        let enders = enders.into_iter().map(Into::into).collect();
        let interrupt = Interrupt { came: Arc::default(), enders: Arc::new(Mutex::new(enders)) };
        let told = interrupt.clone();
        ctrlc::set_handler(move || {
            told.came.store(true, Ordering::SeqCst);
            // Again and again: the next run may be about to begin.
            while Arc::strong_count(&told.came) > 1 {
                let enders = told.enders.lock().unwrap_or_else(PoisonError::into_inner).clone();
                enders.iter().for_each(|ender| ender.end_run(false));
                std::thread::sleep(Duration::from_millis(20));
            }
        })
        .map_err(Failure::system)?;
        Ok(interrupt)
    }

    /// From now on it ends the runs of this launcher, and of no other.
    pub(crate) fn now_ends(&self, launchers: Vec<impl Into<RunEnder>>) {
        let enders = launchers.into_iter().map(Into::into).collect();
        *self.enders.lock().unwrap_or_else(PoisonError::into_inner) = enders;
    }

    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }
}
