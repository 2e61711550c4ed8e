//! How much a program's time depends on where its memory happens to lie: the same program, its environment (or another part
//! of what lies above the stack) a little longer each time (Mytkowicz et al., "Producing wrong data without doing anything
//! obviously wrong", ASPLOS 2009).

mod peaks;
mod sweep;

pub use peaks::{Found, Layouts, find};
pub use sweep::{Plan, Sweep};
