//! Handing in through the form of a problem.

use super::problems::{Entered, page};
use super::refused::LATER;
use super::{Frame, Refused, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::{Details, Incoming, submit};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{Multipart, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use judge::language::{EntryRule, Language};
use std::sync::Arc;
use store::Urgency;

/// Bytes of all files together.
const LARGEST: usize = 1 << 20;
/// Files of a submission.
const MOST: usize = 50;

/// A form as it was posted.
#[derive(Debug, Default)]
struct Posted {
    language: String,
    source: String,
    files: Vec<(String, Vec<u8>)>,
}

/// `POST /problems/{name}/submit`.
pub(super) async fn hand_in(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    form: Multipart,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Submit)?;
    let posted = read(form).await?;
    match take(&service, &frame, &name, &posted).await {
        Ok(token) => Ok(Redirect::to(&format!("/submissions/{token}")).into_response()),
        // What was typed is not to be lost.
        Err(
            error @ (Refusal::Bad(_) | Refusal::TooLarge(_) | Refusal::TooMany(_) | Refusal::Unavailable(_)),
        ) => {
            let hidden = matches!(error, Refusal::Unavailable(_)) && !frame.caller.is_trusted();
            let error = Some(if hidden { LATER.to_string() } else { error.to_string() });
            let entered = Entered { language: posted.language, source: posted.source, error };
            page(&service, frame, &name, None, entered).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn take(service: &Service, frame: &Frame, name: &str, posted: &Posted) -> Result<String, Refusal> {
    let problem = service.packages.newest(&service.store, name).await?;
    let files = files(posted)?;
    let named: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let opened = service.packages.get(&service.store, &problem.newest.package, name).await?;
    let language = match opened.package.submit_answer {
        true => String::new(),
        false => {
            let hint = Some(posted.language.as_str()).filter(|id| !id.is_empty());
            let language =
                words::table().detect(&named, hint).map_err(|e| Refusal::Bad(format!("language: {e}")))?;
            language.id.clone()
        }
    };
    let visitor = frame.caller.visitor.as_deref().filter(|_| frame.caller.user.is_none());
    let incoming = Incoming {
        token: None,
        version: Some(problem.newest.id),
        author: frame.caller.id(),
        origin: store::PARTICIPANT,
        visitor,
        language: &language,
        files: named,
        details: Details::default(),
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    };
    Ok(submit(service, incoming).await?.token)
}

/// The files of a form: those that were chosen, else the one that was typed.
fn files(posted: &Posted) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    if !posted.files.is_empty() {
        return Ok(posted.files.clone());
    }
    if posted.source.trim().is_empty() {
        return Err(Refusal::Bad("there is nothing to judge: choose a file or write a program".into()));
    }
    // Browsers post line ends as CR LF.
    let source = posted.source.replace("\r\n", "\n");
    if posted.language.is_empty() {
        return Err(Refusal::Bad("language: choose one; text alone does not say which it is".into()));
    }
    let language =
        words::table().named(&posted.language).map_err(|e| Refusal::Bad(format!("language: {e}")))?;
    Ok(vec![(file_name(language, &source), source.into_bytes())])
}

/// The name that a program which was typed gets: Java's compiler wants that of its public class.
fn file_name(language: &Language, source: &str) -> String {
    let class = || {
        let after =
            source.split_once("public class ").or_else(|| source.split_once("public final class "))?.1;
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        Some(&after[..end]).filter(|class| !class.is_empty())
    };
    let stem = match language.entry {
        EntryRule::Java => class().unwrap_or("Main"),
        _ => "main",
    };
    let of_another =
        || language.fallback.as_deref().and_then(|id| words::table().get(id)?.extensions.first());
    let own = language.extensions.first().or(language.sources.first()).or_else(of_another);
    own.map_or(stem.to_string(), |extension| format!("{stem}.{extension}"))
}

async fn read(mut form: Multipart) -> Result<Posted, Refusal> {
    let mut posted = Posted::default();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name().unwrap_or_default() {
            "language" => posted.language = text(field).await?,
            "source" => posted.source = text(field).await?,
            "files" => {
                let name = field.file_name().unwrap_or_default().to_string();
                let bytes = field.bytes().await.map_err(broken)?;
                // Browsers post an empty file without a name where none was chosen.
                if !name.is_empty() {
                    posted.files.push((name, bytes.to_vec()));
                }
            }
            _ => {}
        }
        let size: usize =
            posted.files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() + posted.source.len();
        if size > LARGEST || posted.files.len() > MOST {
            return Err(Refusal::TooLarge(format!(
                "files: at most {MOST} of {} KiB together",
                LARGEST >> 10
            )));
        }
    }
    Ok(posted)
}

async fn text(field: Field<'_>) -> Result<String, Refusal> {
    field.text().await.map_err(broken)
}

/// A form that could not be read.
pub(super) fn broken(error: MultipartError) -> Refusal {
    match error.status() {
        axum::http::StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(error.body_text()),
        _ => Refusal::Bad(format!("form: {}", error.body_text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_gets_a_name() {
        for (language, source, name) in [
            ("cpp", "int main(){}", "main.cc"),
            ("cpp17", "int main(){}", "main.cc"),
            ("java", "import x;\npublic class Fence {", "Fence.java"),
            ("java", "class A { }", "Main.java"),
            ("python3", "print(1)", "main.py"),
            ("bash", "echo", "main.sh"),
        ] {
            let posted = Posted { language: language.into(), source: source.into(), ..Posted::default() };
            let files = files(&posted).unwrap();
            assert_eq!(files[0].0, name, "{language}");
            let named: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
            assert_eq!(words::table().detect(&named, Some(language)).unwrap().id, language);
        }
    }

    #[test]
    fn nothing_and_an_unknown_language_are_refused() {
        let typed = |language: &str, source: &str| {
            files(&Posted { language: language.into(), source: source.into(), ..Posted::default() })
        };
        assert!(matches!(typed("cpp", "  \n"), Err(Refusal::Bad(_))));
        assert!(matches!(typed("", "x"), Err(Refusal::Bad(_))));
        assert!(matches!(typed("klingon", "x"), Err(Refusal::Bad(_))));
    }
}
