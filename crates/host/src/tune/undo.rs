//! Putting back what was found, and telling what is in force.

use super::apply::{refusal, write};
use super::journal::{Journal, JournalError, Record, Standing};
use super::knobs::Knobs;
use super::{Between, Outcome, TuneConfig};
use std::io;

/// Puts the chosen changes back to what was found, the last one first, and takes the journal away when none is left.
///
/// A change without outcome counts as made. What did not outlive a restart of the system, or is gone with its file or
/// task, is undone already. Some knobs move others: when all are put back, each is looked at again, and only then noted
/// as undone; so an undo that was itself cut off is simply done again.
///
/// # Errors
/// The journal cannot be written.
pub fn undo(
    journal: &mut Journal,
    config: &TuneConfig,
    knobs: &mut dyn Knobs,
    between: Between<'_>,
) -> Result<Outcome, JournalError> {
    let mut stopped = false;
    let mut done: Vec<(usize, Standing)> = Vec::new();
    let boot = journal.boot().to_string();
    for (n, record) in journal.records().iter().enumerate().rev() {
        if !is_made(record) || !config.chosen(&record.change.id) {
            continue;
        }
        stopped = between(done.len(), &record.change).is_break();
        if stopped {
            break;
        }
        done.push((n, restore(record, &boot, knobs)));
    }
    for (n, standing) in &mut done {
        let Some(record) = journal.records().get(*n) else { continue };
        let again = restore(record, &boot, knobs);
        if !matches!((&again, &standing), (Standing::Undone(_), Standing::Undone(_))) {
            *standing = again;
        }
    }
    for (n, standing) in &done {
        journal.settle(*n, standing.clone())?;
    }
    let records = done.iter().filter_map(|(n, _)| journal.records().get(*n).cloned()).collect();
    journal.close_if_done()?;
    Ok(Outcome { records, stopped })
}

fn is_made(record: &Record) -> bool {
    !matches!(record.standing, Standing::Refused(_) | Standing::Undone(_))
}

/// Puts one change back.
fn restore(record: &Record, boot: &str, knobs: &mut dyn Knobs) -> Standing {
    let change = &record.change;
    if !record.is_live(boot) {
        return Standing::Undone(Some("was reset by a reboot".into()));
    }
    let now = match knobs.read(&change.target) {
        Ok(now) => now,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Standing::Undone(Some("no longer exists".into()));
        }
        Err(e) => return Standing::Otherwise(format!("cannot be read: {}", refusal(&e))),
    };
    if knobs.same(&change.target, &now, &change.found) {
        return Standing::Undone(None);
    }
    let as_wanted = knobs.same(&change.target, &now, &change.want);
    let foreign = (record.standing == Standing::Verified && !as_wanted)
        .then(|| format!("the kernel or another process had set it to `{}`", now.trim_end()));
    match write(change, &change.found, knobs) {
        Standing::Verified => Standing::Undone(foreign),
        Standing::Applied(why) => Standing::Undone(Some(why)),
        Standing::Refused(why) | Standing::Otherwise(why) => {
            Standing::Otherwise(format!("cannot be restored: {why}"))
        }
        other => other,
    }
}

/// How a change stands now, for people and programs.
pub fn present(record: &Record, boot: &str, knobs: &dyn Knobs) -> model::Change {
    let change = &record.change;
    let told = tell(record);
    if !record.is_live(boot) {
        let restarted = matches!(told.state, model::ChangeState::Applied | model::ChangeState::Verified);
        let why = "was reset by a reboot".to_string();
        return match restarted {
            true => model::Change { state: model::ChangeState::Undone, reason: Some(why), ..told },
            false => told,
        };
    }
    let foreign = |reason: String| model::Change {
        state: model::ChangeState::Foreign,
        reason: Some(reason),
        ..told.clone()
    };
    match knobs.read(&change.target) {
        Ok(now) if knobs.same(&change.target, &now, &change.want) => {
            model::Change { state: model::ChangeState::Verified, reason: None, ..told }
        }
        Ok(_) if matches!(record.standing, Standing::Otherwise(_)) => told,
        Ok(now)
            if knobs.same(&change.target, &now, &change.found) && record.standing == Standing::Intended =>
        {
            model::Change { reason: Some("not applied: interrupted before".into()), ..told }
        }
        Ok(now) => foreign(format!("is `{}` now", now.trim_end())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => foreign("no longer exists".into()),
        Err(e) => model::Change {
            state: model::ChangeState::Applied,
            reason: Some(format!("cannot be read: {}", refusal(&e))),
            ..told
        },
    }
}

/// How a change stood when it was noted last.
fn tell(record: &Record) -> model::Change {
    use model::ChangeState::{Applied, Refused, Undone, Verified};
    let (state, reason) = match &record.standing {
        Standing::Intended => (Applied, Some("interrupted before the result was recorded".to_string())),
        Standing::Applied(why) => (Applied, Some(why.clone())),
        Standing::Verified => (Verified, None),
        Standing::Refused(why) | Standing::Otherwise(why) => (Refused, Some(why.clone())),
        Standing::Undone(why) => (Undone, why.clone()),
    };
    let change = &record.change;
    model::Change {
        id: change.id.clone(),
        target: change.target.to_string(),
        found: change.found.clone(),
        want: change.want.clone(),
        state,
        reason,
    }
}

impl From<&Record> for model::Change {
    fn from(record: &Record) -> model::Change {
        tell(record)
    }
}

impl From<&super::Change> for model::Change {
    fn from(change: &super::Change) -> model::Change {
        model::Change {
            id: change.id.clone(),
            target: change.target.to_string(),
            found: change.found.clone(),
            want: change.want.clone(),
            state: model::ChangeState::Planned,
            reason: None,
        }
    }
}
