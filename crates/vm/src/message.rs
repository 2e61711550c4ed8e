//! What host and guest say to each other, as JSON, and what the host believes of it.

use engine::{Blame, SystemError};
use model::{BoxId, Bytes, Found, Nanos, Observation, RunSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of this protocol; both ends are the same binary, so another one is a fault.
pub(crate) const VERSION: u32 = 1;
/// Longest name of a file in a box (PATH_MAX).
const LONGEST_NAME: usize = 4096;

/// Of a run's descriptor: what it is in the guest, and what travels on the channel of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// A file whose content comes before the run.
    Stored {
        /// Permissions.
        mode: u32,
    },
    /// The same, and it goes back after the run: what an emulator tells us in.
    Shared,
    /// A pipe that is read.
    Fed,
    /// An empty file whose content goes back after the run.
    Gathered,
    /// A pipe that is written to.
    Told,
    /// The same open file as another.
    Same(u8),
}

/// A request. Numbers of boxes are the guest's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    CreateBox {
        size: Bytes,
    },
    /// The content comes on channel 0.
    Put {
        id: BoxId,
        path: String,
        executable: bool,
    },
    /// The content goes back on channel 0 before the answer.
    Fetch {
        id: BoxId,
        path: String,
    },
    List {
        id: BoxId,
    },
    Remove {
        id: BoxId,
        path: String,
    },
    DropBox {
        id: BoxId,
    },
    Run {
        spec: Box<RunSpec>,
        fds: Vec<Role>,
    },
    /// Not answered.
    EndRun {
        output: bool,
    },
}

/// A request and its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NumberedRequest {
    pub(crate) serial: u64,
    pub(crate) ask: Request,
}

/// An answer and the number of its request; 0 is what a guest says when it is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NumberedResponse {
    pub(crate) serial: u64,
    pub(crate) told: Response,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Response {
    Ready {
        version: u32,
        weaker: Vec<String>,
    },
    Box(BoxId),
    Done,
    File(Found<()>),
    Files(Vec<String>),
    /// With the age of its end by the guest's clock.
    Observed {
        observation: Box<Observation>,
        age: Nanos,
    },
    Failed {
        what: String,
        why: String,
        blame: WireBlame,
    },
}

/// The wire form of [`Blame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireBlame {
    Machine,
    Content,
    CannotExec,
}

impl From<Blame> for WireBlame {
    fn from(blame: Blame) -> WireBlame {
        match blame {
            Blame::Machine => WireBlame::Machine,
            Blame::Content => WireBlame::Content,
            Blame::CannotExec => WireBlame::CannotExec,
        }
    }
}

impl WireBlame {
    pub(crate) fn error(self, what: String, why: String) -> SystemError {
        let blame = match self {
            WireBlame::Machine => Blame::Machine,
            WireBlame::Content => Blame::Content,
            WireBlame::CannotExec => Blame::CannotExec,
        };
        SystemError { what, why, blame }
    }
}

/// A guest's document as far as its form goes.
///
/// # Errors
/// Why it is none: not of this form, control characters in a text, a name that leads out of its box.
pub(crate) fn read(bytes: &[u8]) -> Result<NumberedResponse, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| "a document that is none".to_string())?;
    let answered: NumberedResponse =
        serde_json::from_value(value.clone()).map_err(|_| "a document of unknown form".to_string())?;
    match &answered.told {
        Response::Files(names) if !names.iter().all(|name| within(name)) => {
            Err("a name of a file that leads out of its box".into())
        }
        Response::Files(_) => Ok(answered),
        // Texts of all others are shown to people.
        _ if printable(&value) => Ok(answered),
        _ => Err("control characters in a text".into()),
    }
}

/// Whether a guest's document would be taken, for the fuzzer.
pub fn check(bytes: &[u8]) -> bool {
    read(bytes).is_ok()
}

/// Relative, and without `..` and its like.
fn within(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != "." && part != "..";
    name.len() < LONGEST_NAME && !name.contains('\0') && name.split('/').all(part)
}

fn printable(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.chars().any(char::is_control),
        Value::Array(values) => values.iter().all(printable),
        Value::Object(fields) => {
            fields.iter().all(|(name, value)| !name.chars().any(char::is_control) && printable(value))
        }
        _ => true,
    }
}

/// Whether an observation can be true of a run that took at most `elapsed` here on so many CPUs.
pub(crate) fn possible(
    observation: &Observation,
    age: Nanos,
    elapsed: Nanos,
    cpus: u32,
) -> Result<(), String> {
    /// Clocks of host and guest differ in speed, and the kernel rounds to ticks.
    const SLACK: Nanos = Nanos::from_millis(100);
    let most = elapsed.scale(1.02) + SLACK;
    let time = observation.time;
    if time.wall > most || age > most {
        return Err(format!(
            "a run of {} ms, when {} ms had passed",
            time.wall.0 / 1_000_000,
            elapsed.0 / 1_000_000
        ));
    }
    if time.cpu > most.scale(f64::from(cpus))
        || time.user > time.cpu + SLACK
        || time.system > time.cpu + SLACK
    {
        return Err(format!(
            "{} ms of CPU time, when {} ms had passed on {cpus} CPUs",
            time.cpu.0 / 1_000_000,
            elapsed.0 / 1_000_000
        ));
    }
    match observation.exit {
        model::Exit::Code(0..=255) | model::Exit::Signal(1..=64) => Ok(()),
        other => Err(format!("an end by {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Exit;

    fn text(told: Response) -> Vec<u8> {
        serde_json::to_vec(&NumberedResponse { serial: 1, told }).expect("it has a form")
    }

    #[test]
    fn names_stay_in_their_box() {
        let files = |name: &str| read(&text(Response::Files(vec!["a".into(), name.into()])));
        for good in ["a", "a/b", "..a", "a\nb", "…"] {
            assert!(files(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\0", &"a".repeat(4096)] {
            assert!(files(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_cannot_move_a_terminal() {
        let failed = |why: &str| {
            let (what, why) = ("running".into(), why.into());
            read(&text(Response::Failed { what, why, blame: WireBlame::Machine }))
        };
        assert!(failed("no such file").is_ok());
        assert!(failed("\u{1b}[2J").is_err() && failed("a\u{9b}b").is_err());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bad in [
            "",
            "{}",
            "[1]",
            "{\"serial\":1,\"told\":\"verdict\"}",
            "{\"serial\":-1,\"told\":\"done\"}",
            "\u{0}",
        ] {
            assert!(!check(bad.as_bytes()), "{bad}");
        }
        assert!(check(b"{\"serial\":1,\"told\":\"done\"}"));
    }

    #[test]
    fn times_must_fit_into_what_passed() {
        let seen = |exit, cpu, wall, age, cpus| {
            let mut observation = Observation::unread(exit, Nanos::from_millis(cpu), "");
            observation.time.wall = Nanos::from_millis(wall);
            possible(&observation, Nanos::from_millis(age), Nanos::from_millis(1000), cpus).is_ok()
        };
        assert!(seen(Exit::Code(0), 900, 1000, 5, 1));
        assert!(seen(Exit::Code(0), 1900, 1000, 5, 2));
        assert!(!seen(Exit::Code(0), 1900, 1000, 5, 1), "more CPU time than one CPU has");
        assert!(!seen(Exit::Code(0), 900, 1500, 5, 1), "longer than it was waited for");
        assert!(!seen(Exit::Code(0), 900, 900, 1500, 1), "ended before it began");
        assert!(!seen(Exit::Code(256), 1, 1, 1, 1) && !seen(Exit::Signal(0), 1, 1, 1, 1));
    }
}
