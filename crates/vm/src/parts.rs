//! What a machine is made from: QEMU, a kernel, its modules.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const QEMU: &str = "qemu-system-x86_64";
const PLACES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/usr/libexec"];
const REMEDY: &str = "hint: apt install qemu-system-x86 linux-image-amd64 (docs/vm.md)";
const NAMED: &str = "hint: name the image as its package does, such as /boot/vmlinuz-6.1.0-35-amd64";
/// The directory of kernels.
const BOOT: &str = "/boot";
/// Modules in the order in which they need each other; one that a kernel has built in, or does not have, is left out.
const MODULES: [&str; 11] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_console",
    "netfs",
    "fscache",
    "9pnet",
    "9pnet_virtio",
    "9p",
];
/// Without it nothing can be shown to a guest; Debian's cloud kernel lacks it.
const NEEDED: &str = "9p";

/// The parts that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// The emulator.
    pub qemu: PathBuf,
    /// The kernel's image.
    pub kernel: PathBuf,
    /// Its modules, in the order in which they are loaded.
    pub modules: Vec<PathBuf>,
}

impl Parts {
    /// The kernel's release.
    pub fn release(&self) -> &str {
        version_of(&self.kernel).unwrap_or_default()
    }
}

/// The parts on this machine; `kernel` is an image that is named, in place of the newest below /boot that can be used.
///
/// # Errors
/// What is missing, with a line `hint:`.
pub fn find(kernel: Option<&Path>) -> Result<Parts, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("virtual machines are x86_64 only".into());
    }
    let qemu = PLACES.iter().map(|place| Path::new(place).join(QEMU)).find(|path| path.is_file());
    let qemu = qemu.ok_or_else(|| format!("no {QEMU} in {}\n{REMEDY}", PLACES.join(", ")))?;
    let kernels = match kernel {
        Some(named) => vec![named.to_path_buf()],
        None => newest_first(Path::new(BOOT)),
    };
    let mut why = format!("no kernel in {BOOT}\n{REMEDY}");
    for kernel in kernels {
        match modules_of(&kernel) {
            Ok(modules) => return Ok(Parts { qemu, kernel, modules }),
            Err(e) => why = e,
        }
    }
    Err(why)
}

fn newest_first(boot: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(boot).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut kernels: Vec<PathBuf> = entries.filter(|path| version_of(path).is_some()).collect();
    let numbers = |path: &PathBuf| -> Vec<u64> {
        let version = version_of(path).unwrap_or_default().to_string();
        version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
    };
    kernels.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
    kernels
}

fn version_of(kernel: &Path) -> Option<&str> {
    kernel.file_name()?.to_str()?.strip_prefix("vmlinuz-")
}

/// The modules of a kernel `DIR/vmlinuz-VERSION`: beside it as packages lay them out, or of this machine.
fn modules_of(kernel: &Path) -> Result<Vec<PathBuf>, String> {
    let name = kernel.display();
    let version = version_of(kernel).ok_or_else(|| {
        format!("{name}: the file name of this kernel does not have the form vmlinuz-VERSION\n{NAMED}")
    })?;
    fs::File::open(kernel).map_err(|e| format!("{name}: {e}"))?;
    let beside = kernel.parent().and_then(Path::parent).map(|root| root.join("lib/modules"));
    let roots: Vec<PathBuf> = beside.into_iter().chain([PathBuf::from("/lib/modules")]).collect();
    let Some(directory) =
        roots.iter().map(|root| root.join(version).join("kernel")).find(|path| path.is_dir())
    else {
        return Err(format!("{name}: no modules of this kernel in {}\n{REMEDY}", roots[0].display()));
    };
    let mut all = Vec::new();
    walk(&directory, 0, &mut all);
    let module = |wanted: &str| all.iter().find(|path| module_name(path).as_deref() == Some(wanted)).cloned();
    if module(NEEDED).is_none() {
        return Err(format!("{name}: this kernel has no module for the file system {NEEDED}\n{REMEDY}"));
    }
    Ok(MODULES.iter().filter_map(|name| module(name)).collect())
}

/// `virtio_pci` of `…/virtio_pci.ko.xz`; the kernel takes `-` and `_` for the same.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, rest) = name.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&rest).then(|| name.replace('-', "_"))
}

fn walk(directory: &Path, depth: u32, all: &mut Vec<PathBuf>) {
    const DEEPEST: u32 = 6;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => walk(&entry.path(), depth + 1, all),
            Ok(kind) if kind.is_file() => all.push(entry.path()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_name() {
        for (path, name) in [
            ("/a/virtio_pci.ko", Some("virtio_pci")),
            ("/a/virtio-rng.ko.xz", Some("virtio_rng")),
            ("/a/9p.ko.zst", Some("9p")),
            ("/a/modules.dep", None),
            ("/a/9p.kot", None),
        ] {
            assert_eq!(module_name(Path::new(path)).as_deref(), name, "{path}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        for (kernel, part) in [("/boot/bzImage", "vmlinuz-VERSION"), ("/nowhere/vmlinuz-1", "No such file")] {
            let why = modules_of(Path::new(kernel)).expect_err("there is none");
            assert!(why.contains(part), "{why}");
            assert_eq!(why.contains("\nhint: "), part.starts_with("vmlinuz"), "{why}");
        }
    }
}
