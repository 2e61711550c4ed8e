//! Results that nobody has to wait for: reported by a thread of their own while the next test runs, one at a time and in their order.

use crate::terminal::Failure;
use ::judgehost::server::{NotDone, Server};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Who carries them.
pub(super) struct ReportSender {
    orders: Sender<(u64, String)>,
    answers: Receiver<Result<bool, NotDone>>,
    /// The task whose report is on its way.
    carries: Option<u64>,
}

impl ReportSender {
    /// Starts the thread, which asks by a client of its own. After the launchers are forked.
    pub(super) fn start(server: Server) -> Result<ReportSender, Failure> {
        let (orders, ordered) = channel::<(u64, String)>();
        let (answer, answers) = channel();
        let carry = move || {
            while let Ok((task, body)) = ordered.recv() {
                if answer.send(server.report(task, &body)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("courier".into()).spawn(carry).map_err(Failure::system)?;
        Ok(ReportSender { orders, answers, carries: None })
    }

    /// Sends a report on its way. The one before must have been waited for.
    pub(super) fn send(&mut self, task: u64, body: String) {
        debug_assert!(self.carries.is_none(), "a report is on its way");
        self.carries = Some(task);
        // A thread that is gone shows when it is waited for.
        drop(self.orders.send((task, body)));
    }

    /// Waits for the report that is on its way: its task, and whether more of the judging is wanted. `None`: there is none.
    pub(super) fn wait(&mut self) -> Option<(u64, Result<bool, NotDone>)> {
        let task = self.carries.take()?;
        let gone = |_| Err(NotDone::Unreachable("the thread that reports results has ended".into()));
        Some((task, self.answers.recv().unwrap_or_else(gone)))
    }
}
