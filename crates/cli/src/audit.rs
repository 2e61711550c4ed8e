//! `tauto audit`: what on this host makes time vary.

use crate::Done;
use crate::exports;
use crate::reservation::slots_config;
use crate::terminal::{self, Failure, print, print_error};
use clap::Args;
use host::facts::Facts;
use host::machine::Machine;
use host::{audit, slots};
use report::json::to_text;
use report::markdown;
use report::text::audit_table;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Print one JSON document
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown, to paste into an issue
    #[arg(long)]
    markdown: bool,
    /// Check a recorded machine: a file of `tauto audit --record`, or a directory with its /proc and /sys
    #[arg(long, value_name = "DIR|FILE")]
    root: Option<PathBuf>,
    /// Write everything that the audit reads to a new file, for --root on another machine
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

pub(crate) fn main(args: AuditArgs) -> Result<Done, Failure> {
    let mut machine = open(args.root.as_deref())?;
    if args.record.is_some() {
        machine = machine.remembering();
    }
    let facts = Facts::gather(&machine).map_err(|e| {
        let why = format!("its processors cannot be read: {e}");
        of_root(args.root.as_deref(), &std::io::Error::new(e.kind(), why))
    })?;
    if let Some(path) = &args.record {
        record(path, &machine.recording())?;
    }
    let slots_config = slots_config(args.root.as_deref())?;
    let slots = slots::plan_with(&facts.topology, &facts.cgroups, &slots_config);
    let audit = audit::assess(&facts, &slots);
    match (args.json, args.markdown) {
        (true, _) => print(&to_text(&audit)),
        (_, true) => print(&markdown::audit(&audit)),
        _ => print(&audit_table(&audit, terminal::style())),
    }
    Ok(if audit.is_bad() { Done::Bad } else { Done::Good })
}

fn open(root: Option<&Path>) -> Result<Machine, Failure> {
    let machine = root.map_or_else(Machine::this, Machine::at);
    machine.map_err(|e| of_root(root, &e))
}

/// What is wrong with a machine that the user named is for the user to put right.
fn of_root(root: Option<&Path>, e: &std::io::Error) -> Failure {
    match root {
        Some(path) => Failure::usage(format!("--root {}: {e}", path.display()))
            .hint("name a recording of `tauto audit --record FILE`, or a directory with proc and sys"),
        None => Failure::system(format!("cannot read this machine: {e}")),
    }
}

/// Writes a recording where there is nothing yet, and says what is in it.
fn record(path: &Path, text: &str) -> Result<(), Failure> {
    exports::create(path, text.as_bytes()).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "--record {}: exists and is not overwritten\nhint: name another file",
            path.display()
        )),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Failure::usage(format!(
            "--record {}: its directory does not exist\n\
             hint: create the directory first, or name a file elsewhere",
            path.display()
        )),
        _ => Failure::system(format!("--record {}: {e}", path.display())),
    })?;
    print_error(&format!(
        "recorded in {} ({} KiB of text): settings and counters from /proc and /sys, and the names of interrupts, threads, \
         processes and control groups; no command lines, no host name, no kernel parameters but those that concern time\n",
        path.display(),
        text.len().div_ceil(1024)
    ));
    Ok(())
}
