//! `scripts/xtask`: what is done around the house and belongs to no program of it.

use clap::Parser;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use xtask::tests::{self, Tier};
use xtask::vm::{self, Cgroups, Shape, Vm};

/// Chores of the repository.
#[derive(Parser)]
#[command(name = "scripts/xtask", bin_name = "scripts/xtask")]
enum Task {
    /// Boot a Linux 6.1 in a software-emulated virtual machine and run one command in it, `tauto` being on its PATH
    Vm(Options),
    /// Wrap the running text of documents
    Wrap,
    /// Check format and lints, build, and run tests
    Test {
        /// Which tests
        #[arg(value_enum)]
        tier: Tier,
        /// Fail if a test is skipped
        #[arg(long)]
        strict: bool,
    },
}

#[derive(clap::Args)]
struct Options {
    /// Which control groups are mounted
    #[arg(long, value_enum, default_value = "v2")]
    cgroups: Cgroups,
    /// Its processors and memory nodes
    #[arg(long, default_value_t, value_name = "SOCKETSxCORESxTHREADS[xNODES]")]
    shape: Shape,
    /// More parameters for the kernel
    #[arg(long, default_value = "", value_name = "PARAMETERS")]
    append: String,
    /// A file to take along into the directory /vm of the machine
    #[arg(long, value_name = "FILE")]
    add: Vec<PathBuf>,
    /// End the machine when the command has run for so many seconds
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    patience: u64,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let ended = match Task::parse() {
        Task::Vm(options) => boot(options),
        Task::Wrap => {
            let wrapped = xtask::Tree::of_the_repository().and_then(|tree| xtask::wrap(&tree));
            wrapped.map(|()| 0).map_err(|error| error.to_string())
        }
        Task::Test { tier, strict } => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            tests::all(&root, tier, strict).map(|good| u8::from(!good))
        }
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("error: {error}\n").as_bytes());
            ExitCode::from(3)
        }
    }
}

fn boot(options: Options) -> Result<u8, String> {
    let machine = Vm {
        tauto: build_tauto()?,
        files: options.add,
        cgroups: options.cgroups,
        shape: options.shape,
        disk: 0,
        append: options.append,
        command: options.command,
        patience: Duration::from_secs(options.patience),
    };
    vm::boot(&machine, &mut io::stdout())
}

/// Builds the binary into the directory this one lies in.
fn build_tauto() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let profile = own.parent().ok_or("this binary lies in no directory")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut build = tests::cargo(&root, &["build", "--quiet", "--workspace", "--bin", "tauto"]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    match build.status() {
        Ok(status) if status.success() => Ok(profile.join("tauto")),
        Ok(status) => Err(format!("cargo build --workspace --bin tauto ended with {status}")),
        Err(error) => Err(format!("cargo build: {error}")),
    }
}
