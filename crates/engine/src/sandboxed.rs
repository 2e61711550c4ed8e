//! The real [`Runner`]: a launcher of the sandbox.

use crate::{Blame, Runner, SystemError};
use model::{BoxId, Bytes, Found, Observation, RunSpec};
use sandbox::{ErrorKind, Launcher, SandboxError};
use std::fs::File;
use std::os::fd::OwnedFd;

impl From<SandboxError> for SystemError {
    fn from(e: SandboxError) -> SystemError {
        let blame = match e.kind {
            ErrorKind::CannotExec => Blame::CannotExec,
            ErrorKind::Content => Blame::Content,
            // What cannot be asked for is where and how runs take place: no submission chooses that.
            ErrorKind::BadRequest | ErrorKind::System | ErrorKind::LauncherGone => Blame::Machine,
        };
        SystemError { what: e.what, why: e.why, blame }
    }
}

impl Runner for Launcher {
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError> {
        Ok(self.create_box(size)?)
    }

    fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SystemError> {
        Ok(self.put(id, path, executable, content)?)
    }

    fn fetch(&self, id: BoxId, path: &str) -> Result<Found<File>, SystemError> {
        Ok(self.fetch(id, path)?)
    }

    fn list(&self, id: BoxId) -> Result<Vec<String>, SystemError> {
        Ok(self.list(id)?)
    }

    fn remove(&self, id: BoxId, path: &str) -> Result<(), SystemError> {
        Ok(self.remove(id, path)?)
    }

    fn drop_box(&self, id: BoxId) -> Result<(), SystemError> {
        Ok(self.drop_box(id)?)
    }

    fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SystemError> {
        Ok(self.run(spec, fds)?)
    }

    fn end_run(&self, output: bool) {
        self.ender().end_run(output);
    }
}
