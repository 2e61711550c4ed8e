//! A package that is submitted.

use crate::errors::Refusal;
use crate::problems::{Opened, limits};
use crate::service::Service;
use crate::timestamp::now;
use std::sync::Arc;
use store::{Hash, NewVersion, Problem, UserId, Version};

/// Bytes a package may have when it is submitted. It is held in memory once.
pub(crate) const PACKAGE_LIMIT: usize = 128 << 20;

/// A package that was taken in.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) problem: Problem,
    /// It was not the newest version already.
    pub(crate) fresh: bool,
    /// What is untidy about it: place and message.
    pub(crate) warnings: Vec<(String, String)>,
}

/// Takes a package in, a zip archive, as the newest version of the problem `name`, which is made where there is none. The very
/// package that is the newest version already adds nothing.
///
/// # Errors
/// [`Refusal::Bad`] with place and reason where it cannot be judged; nothing is kept then. [`Refusal::TooLarge`].
pub(crate) async fn add(
    service: &Service,
    by: Option<UserId>,
    name: &str,
    zip: Vec<u8>,
) -> Result<Added, Refusal> {
    let (added, version, opened) = take(service, by, name, zip).await?;
    limits::came(service, &version, &opened).await?;
    Ok(added)
}

/// The same, and no time limit is inferred before something needs it.
pub(super) async fn take(
    service: &Service,
    by: Option<UserId>,
    name: &str,
    zip: Vec<u8>,
) -> Result<(Added, Version, Arc<Opened>), Refusal> {
    is_name(name)?;
    if zip.len() > PACKAGE_LIMIT {
        return Err(Refusal::TooLarge(format!(
            "package: {} bytes; the limit is {PACKAGE_LIMIT} ({} MiB)",
            zip.len(),
            PACKAGE_LIMIT >> 20
        )));
    }
    let hash = Hash::digest(&zip);
    let opened = service.packages.check(&hash, name, &zip).await?;
    let before = match service.store.problem(name).await {
        Ok(problem) => Some(problem.newest.id),
        Err(store::Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let title = title(opened.clone(), name).await?;
    let new = NewVersion { name, title: &title, package: &zip, author: by, created: now() };
    let version = service.store.add_version(new).await?;
    let problem = service.store.problem(name).await?;
    service.packages.forget_name(name);
    tracing::info!(problem = name, version = version.number, package = %hash.as_str(), "package added");
    let added = Added { fresh: before != Some(version.id), problem, warnings: opened.warnings.clone() };
    Ok((added, version, opened))
}

/// The title of a package. Old ones have it in their statement alone, and are known by their short name where that has none either.
async fn title(opened: Arc<Opened>, name: &str) -> Result<String, Refusal> {
    let package = &opened.package;
    match package.title.trim() {
        title if !title.is_empty() && title != package.short_name => return Ok(title.to_string()),
        _ => {}
    }
    let called = name.to_string();
    let read = tokio::task::spawn_blocking(move || crate::statement::statement(&opened, &called, None)).await;
    let read = read.map_err(|e| Refusal::Fault(format!("reading a package: {e}")))?;
    // A statement that cannot be shown is no reason to refuse a package.
    let stated = read.ok().and_then(|statement| statement.title);
    Ok(stated.unwrap_or_else(|| name.to_string()))
}

/// Names of problems go into addresses and file names.
fn is_name(name: &str) -> Result<(), Refusal> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits) {
        return Ok(());
    }
    let rule =
        "1 to 64 letters of the Latin alphabet, digits, `.`, `_` or `-`, beginning with a letter or digit";
    Err(Refusal::Bad(format!("name: `{}` is not a valid problem name: {rule}", name.escape_default())))
}

/// The name of a problem by that of its package's file: without directory and ending.
pub(crate) fn name_of_file(file: &str) -> &str {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let cut = |ending: &str| base.strip_suffix(ending);
    cut(".zip").or_else(|| cut(".kpp")).unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_addresses_and_file_names() {
        for good in ["a", "sieve", "Two-Sums_2.1", "0"] {
            assert!(is_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "-a", "a/b", "a b", "ä", "a\0", &"a".repeat(65)] {
            assert!(matches!(is_name(bad), Err(Refusal::Bad(_))), "{bad}");
        }
    }

    #[test]
    fn a_file_tells_the_name() {
        for (file, name) in [("a.zip", "a"), ("C:\\x\\b.kpp", "b"), ("/t/c", "c"), ("d.tar", "d.tar")] {
            assert_eq!(name_of_file(file), name);
        }
    }
}
