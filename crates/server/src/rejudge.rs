//! Judging again: to have another verdict, or to see how far times vary. What was judged before stays.

use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::now;
use store::{Purpose, Rejudge, RejudgingId, SubmissionId, Urgency, UserId, VersionId};

/// Judgements of one submission that may be asked for at once.
pub(crate) const MOST_TIMES: u32 = 100;
/// Submissions that may be judged again for one reason.
pub(crate) const MOST_SUBMISSIONS: usize = 20_000;
/// Judgements that may be asked for at once, of all submissions together.
const MOST_JUDGEMENTS: usize = 20_000;
/// Bytes of a reason.
const MOST_REASON: usize = 1000;

/// How submissions are to be judged again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// To be their verdict, or a trial.
    pub(crate) purpose: Purpose,
    /// How often each.
    pub(crate) times: u32,
    /// Why, for people.
    pub(crate) reason: &'a str,
    /// Who asks.
    pub(crate) by: Option<UserId>,
    /// What to judge by; `None`: what each was submitted for.
    pub(crate) version: Option<VersionId>,
    /// Which line they wait in.
    pub(crate) urgency: Urgency,
}

impl<'a> Ask<'a> {
    /// By the same version, when nothing live waits.
    pub(crate) fn new(purpose: Purpose, times: u32, reason: &'a str, by: Option<UserId>) -> Ask<'a> {
        Ask { purpose, times, reason, by, version: None, urgency: Urgency::Background }
    }
}

/// Has submissions judged again. All or none; what becomes of them is under the rejudging that is returned.
///
/// # Errors
/// [`Refusal::Bad`] for no submission or too many; [`Refusal::Conflict`] where sources of one were deleted.
pub(crate) async fn again(
    service: &Service,
    submissions: &[SubmissionId],
    ask: Ask<'_>,
) -> Result<RejudgingId, Refusal> {
    let Ask { purpose, times, reason, by, version, urgency } = ask;
    if submissions.is_empty() {
        return Err(Refusal::Bad("submissions: nothing is chosen".into()));
    }
    if !(1..=MOST_TIMES).contains(&times) {
        return Err(Refusal::Bad(format!("times: must be 1 to {MOST_TIMES}")));
    }
    let judgements = submissions.len().saturating_mul(times as usize);
    if submissions.len() > MOST_SUBMISSIONS || judgements > MOST_JUDGEMENTS {
        let all = format!("{judgements} judgements of {} submissions", submissions.len());
        return Err(Refusal::Bad(format!(
            "submissions: {all}, more than {MOST_JUDGEMENTS}\nhint: choose fewer"
        )));
    }
    if reason.len() > MOST_REASON {
        return Err(Refusal::Bad(format!("reason: at most {MOST_REASON} bytes")));
    }
    let rejudge = Rejudge { version, purpose, times, urgency, created: now() };
    let id = service.store.add_rejudging(reason, by, submissions, rejudge).await?;
    service.work_came.many();
    tracing::info!(rejudging = id.0, submissions = submissions.len(), times, ?purpose, "judging again");
    Ok(id)
}
