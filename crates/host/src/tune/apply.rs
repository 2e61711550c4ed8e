//! Making the changes.

use super::journal::{Journal, JournalError, Standing};
use super::knobs::Knobs;
use super::{Between, Change, Outcome, Target};
use rustix::io::Errno;
use std::io;

/// Makes changes, each noted in the journal before and after. What is refused is noted and the rest goes on; a journal
/// that cannot be written ends everything before the next change.
///
/// Some knobs move others: when all are set, each is looked at again, and set once more if it has moved.
///
/// # Errors
/// The journal cannot be written. What was changed until then is noted in it.
pub fn apply(
    changes: &[Change],
    journal: &mut Journal,
    knobs: &mut dyn Knobs,
    between: Between<'_>,
) -> Result<Outcome, JournalError> {
    let mut made = Vec::new();
    let mut stopped = false;
    journal.find(changes)?;
    for (done, change) in changes.iter().enumerate() {
        stopped = between(done, change).is_break();
        if stopped {
            break;
        }
        let (n, again) = journal.intend(change)?;
        let standing = write(change, &change.want, knobs);
        journal.settle(n, if again { changed(standing) } else { standing })?;
        made.push((n, change));
    }
    for (n, change) in &made {
        let settled = journal.records().get(*n).is_some_and(|r| r.standing == Standing::Verified);
        if settled && !matches!(read_back(change, &change.want, knobs), Standing::Verified) {
            let standing = write(change, &change.want, knobs);
            journal.settle(*n, changed(standing))?;
        }
    }
    let records = made.iter().filter_map(|(n, _)| journal.records().get(*n).cloned()).collect();
    journal.close_if_done()?;
    Ok(Outcome { records, stopped })
}

/// The standing of what was changed before: though refused now, it is to be put back.
fn changed(standing: Standing) -> Standing {
    match standing {
        Standing::Refused(why) => Standing::Otherwise(why),
        standing => standing,
    }
}

/// Writes a value and reads it back.
pub(super) fn write(change: &Change, value: &str, knobs: &mut dyn Knobs) -> Standing {
    match knobs.write(&change.target, value) {
        Ok(()) => read_back(change, value, knobs),
        Err(e) if has_ended(change, &e) => Standing::Undone(Some(ENDED.into())),
        Err(e) => Standing::Refused(refusal(&e)),
    }
}

const ENDED: &str = "ended by itself";

/// Tasks come and go: that is no fault of anybody.
fn has_ended(change: &Change, e: &io::Error) -> bool {
    let gone = e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(Errno::SRCH.raw_os_error());
    gone && matches!(change.target, Target::Task { .. })
}

fn read_back(change: &Change, value: &str, knobs: &dyn Knobs) -> Standing {
    match knobs.read(&change.target) {
        Ok(now) if knobs.same(&change.target, &now, value) => Standing::Verified,
        Ok(now) => Standing::Otherwise(format!("reads back `{}`", now.trim_end())),
        Err(e) if has_ended(change, &e) => Standing::Undone(Some(ENDED.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Standing::Otherwise("vanished".into()),
        Err(e) => Standing::Applied(format!("cannot be read back: {e}")),
    }
}

/// A refusal in words, with what the kernel means by it.
pub(super) fn refusal(e: &io::Error) -> String {
    let meaning = match e.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::IO) => "EIO: the kernel refuses the change",
        Some(Errno::PERM) => "EPERM: the kernel does not permit it",
        Some(Errno::ACCESS) => "EACCES: it is not writable",
        Some(Errno::INVAL) => "EINVAL: the kernel rejects this value",
        Some(Errno::ROFS) => "EROFS: mounted read-only, as in a container",
        Some(Errno::BUSY) => "EBUSY: it is in use",
        Some(Errno::NOENT) => "ENOENT: it no longer exists",
        _ => return e.to_string(),
    };
    meaning.to_string()
}
