//! Taking in submissions, whichever face they come through.

mod check;
pub(crate) mod own_tests;

use check::names;
pub(crate) use check::{Checked, FILES, Submitted, check, check_program, code_limit};

use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::timestamp::now;
use fleet::Mode;
use model::{Clock, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use store::{ContestId, Error, NewSubmission, StoredFile, SubmissionId, Urgency, UserId, VersionId};

/// What is noted with a submission, as the store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    /// How far judging goes.
    pub(crate) mode: Mode,
    /// What its times are measured by, where it differs from the package's wish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<Clock>,
    /// The jury submission of the package that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jury: Option<Jury>,
    /// It is no program: it infers a time limit or scales ([`store::LIMITS`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infers: Option<InfersLimit>,
    /// It is judged by a package of its own, of tests or samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loose: Option<own_tests::OwnTests>,
    /// The problem on whose page it was run, of what is no submission to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// It is an execution: its only file is the `model::Execution` as JSON.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) execution: bool,
    /// What tells whether a request that is repeated is the same, where it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
    /// What the face it came through wants to know later.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(crate) face: Json,
}

/// Which time limit of its version is inferred, or what that is in reference time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InfersLimit {
    /// That of contests bound to this pool; `None`: of what is of no contest.
    pub(crate) pool: Option<String>,
    /// Not the limit, but the scales.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) scales: bool,
}

/// A jury submission and its expected verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Jury {
    /// Its path in the package.
    pub(crate) path: String,
    /// The verdicts it may have; empty: any.
    pub(crate) expected: Vec<Verdict>,
}

/// A submission that comes in.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    /// Its name, where it must have a certain one; random where it need not.
    pub(crate) token: Option<&'a str>,
    pub(crate) version: Option<VersionId>,
    pub(crate) author: Option<UserId>,
    /// Which face it came through: [`store::PARTICIPANT`] or a name such as `judge0`.
    pub(crate) origin: &'a str,
    /// The visitor whose it is, where nobody is signed in.
    pub(crate) visitor: Option<&'a str>,
    pub(crate) language: &'a str,
    pub(crate) files: Vec<(&'a str, &'a [u8])>,
    pub(crate) details: Details,
    pub(crate) urgency: Urgency,
    /// The contest it is for: what of it is live goes before what is of none.
    pub(crate) contest: Option<ContestId>,
    /// An address to be told of its first verdict.
    pub(crate) callback: Option<&'a str>,
}

/// What was taken in.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    pub(crate) id: SubmissionId,
    pub(crate) token: String,
}

/// Takes a submission in: when this returns it is on disk and will be judged.
pub(crate) async fn submit(service: &Service, incoming: Incoming<'_>) -> Result<Accepted, Refusal> {
    let token = match incoming.token {
        Some(token) => token.to_string(),
        None => secret::uuid()?,
    };
    let details = serde_json::to_value(&incoming.details).map_err(|e| Refusal::Fault(e.to_string()))?;
    let new = NewSubmission {
        token: &token,
        version: incoming.version,
        author: incoming.author,
        origin: incoming.origin,
        visitor: incoming.visitor,
        language: incoming.language,
        files: incoming.files,
        details,
        created: now(),
        urgency: incoming.urgency,
        contest: incoming.contest,
        callback: incoming.callback,
    };
    let (id, _) = service.store.submit(&new).await?;
    service.metrics.submitted(incoming.origin);
    service.work_came.one();
    Ok(Accepted { id, token })
}

/// The files that were submitted, without what a run keeps among them for itself.
pub(crate) async fn handed_in(service: &Service, submission: SubmissionId) -> Result<Vec<StoredFile>, Error> {
    let mut files = service.store.files(submission).await?;
    files.retain(|file| file.name != own_tests::PACKAGE);
    Ok(files)
}
