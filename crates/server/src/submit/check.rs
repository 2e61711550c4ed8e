//! Whether a submission can be taken in: what can be looked at before judging, by one rule for every face. What passes is judged; what a
//! worker refuses all the same ends as the outcome of its own task.

use crate::errors::Refusal;
use crate::languages;
use crate::service::Service;
use judge::filenames::{self, BadName};
use judge::package::Package;
use model::{Bytes, Execution};
use store::{Contest, Error, Problem};

/// Files of a submission.
pub(crate) const FILES: usize = 100;
/// Bytes of all files together, where the package does not say: the judge's default.
const CODE_LIMIT: Bytes = Bytes::from_kib(256);
/// Files of a program that belongs to no problem.
const PROGRAM_FILES: usize = 1001;

/// What is submitted to a problem, as a face has read it.
#[derive(Debug)]
pub(crate) struct Submitted<'a> {
    /// Short name of the problem.
    pub(crate) problem: &'a str,
    /// Name of the contest it is for.
    pub(crate) contest: Option<&'a str>,
    /// Language id or code; told by the files where it is `None`.
    pub(crate) language: Option<&'a str>,
    pub(crate) files: &'a [(String, Vec<u8>)],
}

/// What a submission that can be taken in is for.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) problem: Problem,
    pub(crate) contest: Option<Contest>,
    /// The language's id; empty where answers are submitted.
    pub(crate) language: String,
}

/// Looks at what a participant submits.
///
/// # Errors
/// [`Refusal::Bad`] and [`Refusal::TooLarge`], whose text begins with the field; [`Refusal::NotFound`] where there is no such problem.
pub(crate) async fn check(service: &Service, submitted: &Submitted<'_>) -> Result<Checked, Refusal> {
    let problem = service.packages.newest(&service.store, submitted.problem).await?;
    let files = submitted.files;
    names(files.iter().map(|(name, _)| name.as_str()), FILES)?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    let package = &opened.package;
    let limit = code_limit(package).0;
    let total: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    if total > limit {
        return Err(Refusal::TooLarge(format!("files: {total} bytes together; the limit is {limit}")));
    }
    let language = match package.submit_answer {
        true => submitted.language.unwrap_or_default().to_owned(),
        false => languages::detect(service, submitted.language, files).await?,
    };
    if let (Some(allowed), Some(known)) = (&package.languages, languages::SHIPPED.get(&language))
        && !known.codes.iter().any(|code| allowed.contains(code))
    {
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        let (name, takes) = (&known.name, allowed.join(", "));
        return Err(Refusal::Bad(format!(
            "language: the problem does not accept {name}; it accepts {takes}"
        )));
    }
    let contest = match submitted.contest {
        Some(name) => Some(service.store.contest(name).await.map_err(|error| match error {
            Error::NotFound(_) => Refusal::Bad("contest: no contest of this name".into()),
            other => other.into(),
        })?),
        None => None,
    };
    Ok(Checked { problem, contest, language })
}

/// Looks at the files of a program that belongs to no problem.
///
/// # Errors
/// [`Refusal::Bad`].
pub(crate) fn check_program(execution: &Execution) -> Result<(), Refusal> {
    names(execution.files.iter().map(|file| file.name.as_str()), PROGRAM_FILES)
}

/// Bytes that all files of a submission may have together.
pub(crate) fn code_limit(package: &Package) -> Bytes {
    package.limits.code.unwrap_or(CODE_LIMIT)
}

pub(super) fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>, most: usize) -> Result<(), Refusal> {
    if names.len() == 0 || names.len() > most {
        return Err(Refusal::Bad(format!("files: must be 1 to {most}")));
    }
    filenames::check(names)
        .map_err(|BadName { file, why }| Refusal::Bad(format!("files[{file}].name: {why}")))
}
