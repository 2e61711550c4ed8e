//! What is inside a machine.

use super::image::Image;
use super::{Cgroups, Vm};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest's first line.
pub(super) const BEGINS: &str = "xtask-vm: begin\n";
/// Its last line, with the exit code of the command behind it.
pub(super) const ENDS: &str = "xtask-vm: exit ";

/// The files are mounted a second time, above the first root of the machine, which cannot be left by pivot_root(2). The sandbox needs
/// that as much as every container does.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir -p /new /proc /sys /dev /tmp /run
mount --bind / /new
cd /new
mount --move . /
exec chroot . /vm/begin
";

const BEGIN: &str = "#!/bin/sh
export PATH=/bin HOME=/home
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
";

/// The image of the guest's file system.
pub(super) fn image(vm: &Vm, busybox: &Path) -> Result<Image, String> {
    let mut image = Image::default();
    for directory in ["bin", "etc", "home", "lib", "lib64", "usr", "usr/bin", "vm"] {
        image.directory(directory);
    }
    image.file("init", 0o755, INIT.into());
    image.file("vm/begin", 0o755, begin(vm).into());
    image.file("etc/passwd", 0o644, "root:x:0:0::/home:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n".into());
    image.file("etc/group", 0o644, "root:x:0:\nuser:x:1000:\n".into());
    add(&mut image, busybox, "bin/busybox")?;
    add(&mut image, &stripped(&vm.tauto)?.1, "bin/tauto")?;
    let binaries: Vec<&Path> =
        [busybox, &vm.tauto].into_iter().chain(vm.files.iter().map(PathBuf::as_path)).collect();
    for library in libraries(&binaries)? {
        add(&mut image, &library, &inside(&library))?;
    }
    for file in &vm.files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        add(&mut image, file, &format!("vm/{name}"))?;
    }
    Ok(image)
}

fn begin(vm: &Vm) -> String {
    let cgroups = match vm.cgroups {
        Cgroups::V2 => "mount -t cgroup2 cgroup /sys/fs/cgroup\n",
        Cgroups::None => "",
    };
    let words: Vec<String> = vm.command.iter().map(|word| quoted(word)).collect();
    // Raw: the line would put a carriage return before each end of line.
    format!(
        "{BEGIN}{cgroups}stty -F /dev/ttyS1 raw\nprintf '{}' >/dev/ttyS1\n\
         ( {} ) </dev/null >/dev/ttyS1 2>&1\nprintf '\\n{ENDS}%s\\n' $? >/dev/ttyS1\npoweroff -f\n",
        BEGINS.escape_debug(),
        words.join(" ")
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn add(image: &mut Image, from: &Path, to: &str) -> Result<(), String> {
    let content = std::fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?;
    image.file(to, 0o755, content);
    Ok(())
}

/// The binary without what only a debugger needs: a machine holds it in memory twice.
fn stripped(binary: &Path) -> Result<(tempfile::TempDir, PathBuf), String> {
    let directory = tempfile::tempdir().map_err(|e| format!("scratch: {e}"))?;
    let file = directory.path().join("stripped");
    let output = Command::new("strip").arg("-o").arg(&file).arg(binary).output();
    let output = output.map_err(|e| format!("strip: {e}; install binutils"))?;
    if output.status.success() {
        Ok((directory, file))
    } else {
        Err(format!("strip {}: {}", binary.display(), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The shared libraries of binaries and the loader, as ldd(1) lists them: `name => path (address)` or `path (address)`.
fn libraries(binaries: &[&Path]) -> Result<BTreeSet<PathBuf>, String> {
    let mut all = BTreeSet::new();
    for binary in binaries {
        let output = Command::new("ldd").arg(binary).output().map_err(|e| format!("ldd: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        all.extend(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    Ok(all)
}

/// The loader must be where the binary says; it looks for the rest in /lib.
fn inside(library: &Path) -> String {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let loader = library.starts_with("/lib64");
    format!("{}/{name}", if loader { "lib64" } else { "lib" })
}
