//! What was read of a contest, and what was judged of it, on disk: lines, written before anything is done by them.

use super::feed::Address;
use crate::config::data_directory;
use crate::terminal::Failure;
use contest_api::contest::Contest;
use contest_api::feed::Notice;
use model::{Forms, Ours};
use os::journal::Journal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;

/// The forms of a journal.
const FORMS: Forms = Forms::kept("a journal of a contest in shadow", 1);

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first one.
    Head { form: u32, url: String, contest: String },
    /// The feed told this, up to this place in it.
    Told { notices: Vec<Value>, token: Option<String> },
    /// A submission was judged.
    Judged { submission: String, judged: Judged },
}

/// What came of a submission, and what it was then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// Its problem.
    pub(super) problem: String,
    /// Its language.
    pub(super) language: String,
    /// Its entry point.
    pub(super) entry: Option<String>,
    /// What it earned.
    pub(super) ours: Ours,
}

/// A journal that is open.
pub(super) struct ShadowJournal {
    journal: Journal,
    path: String,
    token: Option<String>,
}

/// Opens the journal of a contest, or begins it: the contest as it was, and what was judged.
pub(super) fn open(
    address: &Address,
    fresh: bool,
) -> Result<(ShadowJournal, Contest, BTreeMap<String, Judged>), Failure> {
    let digest = Sha256::digest(format!("{} {}", address.api, address.contest));
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let directory = data_directory()?.join("shadow").join(name);
    let path = directory.join("journal");
    let shown = path.display().to_string();
    let told = |e: io::Error| match e.kind() {
        io::ErrorKind::WouldBlock => Failure::usage(format!(
            "{shown}: another tauto shadows this contest\nhint: wait for it, or stop it"
        )),
        _ => Failure::system(format!("{shown}: {e}")),
    };
    std::fs::create_dir_all(&directory).map_err(told)?;
    let (mut contest, mut judged, mut token) = (Contest::default(), BTreeMap::new(), None);
    let (mut headed, mut refused) = (false, None);
    // A journal that is to be forgotten is not looked at.
    let mut journal = Journal::open(&path, |line| {
        match (fresh, serde_json::from_slice(line)) {
            (true, _) => true,
            (false, Ok(Line::Head { form, .. })) => {
                headed = true;
                // The rest of another form stays as it is: nothing is cut off.
                refused = FORMS.read(form).err();
                true
            }
            (false, Ok(Line::Told { notices, token: place })) => {
                token = place.or_else(|| token.take());
                let read = |value: &Value| Notice::read(value.to_string().as_bytes()).ok().flatten();
                notices.iter().filter_map(read).for_each(|notice| drop(contest.apply(&notice)));
                true
            }
            (false, Ok(Line::Judged { submission, judged: one })) => {
                judged.insert(submission, one);
                true
            }
            (false, Err(_)) => refused.is_some(),
        }
    })
    .map_err(told)?;
    if let Some(why) = refused {
        return Err(Failure::usage(format!("{shown}: {why}\nhint: --fresh restarts from scratch")));
    }
    if fresh || !headed {
        journal.clear().map_err(told)?;
        let head =
            Line::Head { form: FORMS.newest, url: address.api.clone(), contest: address.contest.clone() };
        journal.append(bytes(&head)?).map_err(told)?;
    }
    Ok((ShadowJournal { journal, path: shown, token }, contest, judged))
}

fn bytes(line: &Line) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(line).map_err(Failure::system)
}

impl ShadowJournal {
    /// From where to read on.
    pub(super) fn token(&self) -> Option<String> {
        self.token.clone()
    }

    /// The feed told this, up to this place in it.
    pub(super) fn told(&mut self, notices: Vec<Value>, token: Option<String>) -> Result<(), Failure> {
        self.token = token.clone().or_else(|| self.token.take());
        self.write(&Line::Told { notices, token })
    }

    /// A submission was judged.
    pub(super) fn judged(&mut self, submission: &str, judged: &Judged) -> Result<(), Failure> {
        self.write(&Line::Judged { submission: submission.to_owned(), judged: judged.clone() })
    }

    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        let written = self.journal.append(bytes(line)?);
        written.map_err(|e| Failure::system(format!("{}: {e}", self.path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Confidence, Nanos, Reading, Verdict};
    use serde_json::json;

    /// What was written in each form is read for ever, and what is written now has the newest number.
    #[test]
    fn journals_of_every_form() {
        let file = include_str!("../../../tests/forms/shadow-1.json");
        let ours = Ours {
            verdict: Verdict::TimeLimit,
            time: Reading::Known(Nanos(1_234_567_890)),
            limit: Nanos::from_secs(1),
            memory: Reading::Known(Bytes(4096)),
            score: Some(37.5),
            confidence: Confidence::Settled,
            runs: 3,
        };
        let judged =
            Judged { problem: "sum".into(), language: "cpp".into(), entry: Some("Main".into()), ours };
        let lines = [
            Line::Head { form: FORMS.newest, url: "https://a/api".into(), contest: "wf".into() },
            Line::Told {
                notices: vec![json!({ "type": "languages", "id": "c", "data": null })],
                token: Some("7".into()),
            },
            Line::Judged { submission: "9".into(), judged: judged.clone() },
        ];
        let written: Vec<Value> = lines.iter().map(|line| serde_json::to_value(line).unwrap()).collect();
        FORMS.hold(&Value::from(written), &[serde_json::from_str(file).unwrap()], |a, b| a == b);
        let all: Vec<Line> = serde_json::from_str(file).unwrap();
        assert!(matches!(&all[2], Line::Judged { judged: read, .. } if *read == judged));
    }
}
