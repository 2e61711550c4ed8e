//! Virtual machines in which tests run programs.

use std::fs;
use std::path::{Path, PathBuf};

/// Options that run programs in a small virtual machine.
pub const SMALL: [&str; 4] = ["--isolation", "vm", "--vm-memory", "768M"];

/// The environment variable that names the kernel of virtual machines.
pub const KERNEL: &str = "TAUTO_VM_KERNEL";

/// The kernel that `scripts/setup test-all` unpacks.
///
/// # Errors
/// There is none.
pub fn kernel() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm/slots/boot");
    let found = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    found.max().ok_or_else(|| "no kernel for slots in target/vm/slots; run scripts/setup".into())
}
