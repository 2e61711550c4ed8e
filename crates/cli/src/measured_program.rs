//! The program that is measured again and again, and what it is given each time.

use crate::options::LimitArgs;
use crate::run::{assignment, command, shown};
use crate::terminal::Failure;
use clap::Args;
use model::{Layout, Limits, Observation, Placement, RunSpec, Status, Stdio, View, ViewMount};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What every run is given.
#[derive(Args, Clone, Debug)]
pub(crate) struct MeasuredProgramArgs {
    /// Read the standard input of every run from FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Set an environment variable; the caller's environment is not passed on
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) env: Vec<(String, String)>,
    /// Make a directory or file of the host readable by the command, at the same path or at INSIDE
    #[arg(long, value_name = "PATH[:INSIDE]", value_parser = shown)]
    pub(crate) show: Vec<ViewMount>,
    // Last, since its heading holds for what comes after it too.
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl MeasuredProgramArgs {
    /// Paths of the host that are shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.show.iter().map(|mount| mount.host.clone()).collect()
    }

    /// The specification of one run and its descriptors, again for each run: the place in an open file is not shared.
    pub(crate) fn prepared(
        &self,
        argv: &[String],
        placement: &Placement,
        layout: Layout,
    ) -> Result<(RunSpec, Vec<OwnedFd>), Failure> {
        let mut fds = Vec::new();
        let mut spec = RunSpec {
            env: command::environment(&self.env),
            view: View { mounts: self.show.clone(), ..View::default() },
            limits: self.limits.limits(),
            placement: placement.clone(),
            layout,
            ..RunSpec::bare()
        };
        command::show(argv, &mut spec, &mut fds)?;
        if let Some(path) = &self.stdin {
            let file = File::open(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
            spec.stdio[0] = Stdio::Fd(fds.len() as u8);
            fds.push(file.into());
        }
        Ok((spec, fds))
    }
}

/// A run that did not end well is no measurement.
///
/// # Errors
/// How it ended.
pub(crate) fn ended_well(observation: &Observation, limits: &Limits) -> Result<(), Failure> {
    match observation.status(limits) {
        Status::Ok => Ok(()),
        _ => Err(Failure::usage(lab::bench::how_it_ended(observation, limits))),
    }
}
