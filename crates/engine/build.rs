//! Builds the emulator's plugin, so that the binary carries it: one file to install.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let plugin = own.join("../reference-machine");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    for part in ["src", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", plugin.join(part).display());
    }
    // A target directory of its own, since cargo holds the lock of the other one now. What was asked of this build (lints,
    // flags) is not meant for it; whatever its profile, the plugin is on every program's hot path.
    let target = out.join("plugin");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    // Asked for here, not in the manifest: Cargo names the library of a crate that is always a shared object, too, the same for each compiler and its
    // flags, so builds would link one another's.
    cargo.args(["rustc", "--offline", "--release", "--package", "reference-machine", "--lib"]);
    cargo.args(["--crate-type", "cdylib", "--manifest-path"]);
    cargo.arg(plugin.join("Cargo.toml")).arg("--target-dir").arg(&target);
    for asked in ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
        cargo.env_remove(asked);
    }
    // But for these: what is shipped tells nothing of the machine that built it.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let remapped: Vec<&str> = flags.split('\x1f').filter(|f| f.starts_with("--remap-path-prefix=")).collect();
    if !remapped.is_empty() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", remapped.join("\x1f"));
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the plugin of the emulator does not build");
    let built = target.join("release/libreference_machine.so");
    std::fs::copy(&built, out.join("plugin.so")).expect("the plugin lies where cargo puts it");
}
