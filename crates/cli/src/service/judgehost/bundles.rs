//! Executables that were fetched and built: kept by id and hash, which never change.

use super::batch::Stop;
use engine::LoadedFile;
use engine::bundle::{BundleRunner, Executable, ScriptLimits, StationRole};
use judgehost::files::{self, File};
use judgehost::report::{Disabled, InternalError};
use judgehost::server::Server;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// Executables kept built. Each holds a box in the launcher's memory.
const KEPT: usize = 24;

/// Which executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Compile,
    /// It talks to the submission.
    Run,
    /// It starts the submission.
    Start,
    Compare,
    /// It packs the work directory of a judging.
    Debug,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Compile => "compile",
            Kind::Run | Kind::Start => "run",
            Kind::Compare => "compare",
            Kind::Debug => "debug",
        }
    }

    /// What is disabled where it does not work.
    pub(super) fn disabled(self, id: &str) -> Disabled {
        match self {
            Kind::Compile => Disabled::CompileScript(id.to_owned()),
            Kind::Run | Kind::Start | Kind::Debug => Disabled::RunScript(id.to_owned()),
            Kind::Compare => Disabled::CompareScript(id.to_owned()),
        }
    }

    fn at(self) -> StationRole {
        match self {
            Kind::Compile | Kind::Start | Kind::Debug => StationRole::Main,
            Kind::Run | Kind::Compare => StationRole::Beside,
        }
    }
}

type Name = (Kind, String, String);

#[derive(Default)]
pub(super) struct Bundles {
    /// The one used last comes last.
    built: VecDeque<(Name, Rc<Executable<'static>>)>,
    /// Run executables that only start the program.
    usual: BTreeSet<Name>,
}

pub(super) fn part(file: File) -> LoadedFile {
    LoadedFile { name: file.name, executable: file.executable, content: file.content }
}

impl Bundles {
    /// An executable, fetched and built where it is not here.
    pub(super) fn get(
        &mut self,
        (server, runner): (&Server, &BundleRunner<'static>),
        kind: Kind,
        (id, hash): (&str, &str),
        limits: &ScriptLimits,
    ) -> Result<Rc<Executable<'static>>, Stop> {
        let name = (kind, id.to_owned(), hash.to_owned());
        if let Some(at) = self.built.iter().position(|(known, _)| *known == name)
            && let Some(found) = self.built.remove(at)
        {
            let executable = found.1.clone();
            self.built.push_back(found);
            return Ok(executable);
        }
        let wrong = |why: String, log: Vec<u8>| wrong(kind, id, &why, &log);
        let files = fetch(server, kind, id, hash)?;
        let files = files::buildable(files).map_err(|why| wrong(why, Vec::new()))?;
        let made = runner.build(kind.at(), files.into_iter().map(part).collect(), limits)?;
        let executable = made.made.map_err(|why| wrong(format!("does not build: {why}"), made.printed))?;
        if self.built.len() >= KEPT {
            self.built.pop_front();
        }
        let executable = Rc::new(executable);
        self.built.push_back((name, executable.clone()));
        Ok(executable)
    }

    /// A run executable of the site's own. `None`: it only starts the program with its input and output, which is done without it.
    pub(super) fn start(
        &mut self,
        both: (&Server, &BundleRunner<'static>),
        id: &str,
        hash: &str,
        limits: &ScriptLimits,
    ) -> Result<Option<Rc<Executable<'static>>>, Stop> {
        let name = (Kind::Start, id.to_owned(), hash.to_owned());
        if self.usual.contains(&name) {
            return Ok(None);
        }
        let known = self.built.iter().any(|(known, _)| *known == name);
        if !known && files::only_redirects(&fetch(both.0, Kind::Start, id, hash)?) {
            self.usual.insert(name);
            return Ok(None);
        }
        self.get(both, Kind::Start, (id, hash), limits).map(Some)
    }
}

fn wrong(kind: Kind, id: &str, why: &str, log: &[u8]) -> Stop {
    Stop::told(InternalError {
        description: format!("{} executable {id} {why}", kind.name()),
        log: String::from_utf8_lossy(log).into_owned(),
        disabled: kind.disabled(id),
    })
}

fn fetch(server: &Server, kind: Kind, id: &str, hash: &str) -> Result<Vec<File>, Stop> {
    let whole = super::whole(|| {
        let files = server.files(kind.name(), id)?;
        let found = files::executable_hash(&files);
        let is = hash.is_empty() || found.eq_ignore_ascii_case(hash);
        Ok(if is { Ok(files) } else { Err(format!("has the hash {found}, not {hash}")) })
    })?;
    whole.map_err(|why| wrong(kind, id, &why, b""))
}
