//! Virtual machines that hold the programs of tests.

use std::fs;
use std::path::{Path, PathBuf};

/// What puts the programs of a command into a machine, a small one.
pub const SMALL: [&str; 4] = ["--isolation", "vm", "--vm-memory", "768M"];

/// The variable by which `tauto` is told the kernel of its machines.
pub const KERNEL: &str = "TAUTO_VM_KERNEL";

/// The kernel that `scripts/setup test-all` has laid out.
///
/// # Errors
/// It has not.
pub fn kernel() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm/slots/boot");
    let found = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    found.max().ok_or_else(|| "no kernel for slots in target/vm/slots; run scripts/setup".into())
}
