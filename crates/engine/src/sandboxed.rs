//! The real [`Runner`]: a launcher of the sandbox.

use crate::{Runner, SystemError};
use model::{BoxId, Bytes, Observation, RunSpec};
use sandbox::{ErrorKind, Launcher, SandboxError};
use std::fs::File;
use std::os::fd::OwnedFd;

impl From<SandboxError> for SystemError {
    fn from(e: SandboxError) -> SystemError {
        SystemError { what: e.what, why: e.why, cannot_exec: e.kind == ErrorKind::CannotExec }
    }
}

impl Runner for Launcher {
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError> {
        Ok(self.create_box(size)?)
    }

    fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SystemError> {
        Ok(self.put(id, path, executable, content)?)
    }

    fn fetch(&self, id: BoxId, path: &str) -> Result<Option<File>, SystemError> {
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
