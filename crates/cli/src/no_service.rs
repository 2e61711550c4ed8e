//! Replaces `service` in a build without that feature. Its commands say what is missing.

use crate::Done;
use crate::config::Config;
use crate::terminal::Failure;
use clap::Subcommand;
use report::Check;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Only in builds with the service
    #[command(
        hide = true,
        aliases = ["worker", "judgehost", "shadow", "export", "database", "pool", "node", "contest"],
        disable_help_flag = true,
        disable_version_flag = true
    )]
    Serve {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        ignored: Vec<OsString>,
    },
}

pub(crate) fn main(Command::Serve { .. }: Command) -> Result<Done, Failure> {
    Err(Failure::usage("this build of tauto has no service").hint("`cargo build` builds one that has it"))
}

/// The section `[serve]` of the configuration. This build ignores its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ServeConfig {}

impl ServeConfig {
    pub(crate) fn or_default(self) -> ServeConfig {
        self
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) fn checks(_: &Config) -> Vec<Check> {
    vec![]
}
