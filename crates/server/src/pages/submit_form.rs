//! Submitting through the form of a problem.

use super::problems::{Entered, page};
use super::refused::LATER;
use super::{Frame, Refused, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::own_tests::{on_input, on_samples};
use crate::submit::{Checked, Details, FILES, Incoming, Submitted, check, submit};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{Multipart, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use judge::language::{EntryRule, Language};
use std::sync::Arc;
use store::Urgency;

/// Bytes of all files together, whatever the package allows: they are held in memory as they come.
const LARGEST: usize = 1 << 20;

/// A form as it was posted.
#[derive(Debug, Default)]
struct Posted {
    language: String,
    contest: String,
    source: String,
    /// The name of the file that was opened in the editor.
    named: String,
    files: Vec<(String, Vec<u8>)>,
    /// What a run is on: `input` for an input of one's own, else the samples.
    on: String,
    /// That input.
    input: String,
}

/// `POST /problems/{name}/submit`.
pub(super) async fn handle_submit(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    form: Multipart,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Submit)?;
    let posted = read(form).await?;
    // The fragment tells the browser that it may let its draft go.
    let taken = take(&service, &frame, &name, &posted).await.map(|token| format!("{token}#sent"));
    answer(&service, frame, &name, posted, taken).await
}

/// `POST /problems/{name}/run`: the same program, on the samples or on an input of one's own. It is no submission.
pub(super) async fn run(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    form: Multipart,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Submit)?;
    let posted = read(form).await?;
    let taken = try_out(&service, &frame, &name, &posted).await;
    answer(&service, frame, &name, posted, taken).await
}

/// Leads to what was taken in, or back to the form.
async fn answer(
    service: &Arc<Service>,
    frame: Frame,
    name: &str,
    posted: Posted,
    taken: Result<String, Refusal>,
) -> Result<Response, Refused> {
    match taken {
        Ok(token) => Ok(Redirect::to(&format!("/submissions/{token}")).into_response()),
        // What was typed is not to be lost.
        Err(
            error @ (Refusal::Bad(_) | Refusal::TooLarge(_) | Refusal::TooMany(_) | Refusal::Unavailable(_)),
        ) => {
            let hidden = matches!(error, Refusal::Unavailable(_)) && !frame.caller.is_trusted();
            let error = Some(if hidden { LATER.to_string() } else { error.to_string() });
            let Posted { language, contest, source, named, input, .. } = posted;
            let entered = Entered { language, source, named, contest, input, error };
            page(service, frame, name, None, entered).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn take(service: &Service, frame: &Frame, name: &str, posted: &Posted) -> Result<String, Refusal> {
    let files = files(posted)?;
    let submitted = Submitted {
        problem: name,
        contest: said(&posted.contest),
        language: said(&posted.language),
        files: &files,
    };
    let Checked { problem, contest, language } = check(service, &submitted).await?;
    let visitor = frame.caller.visitor.as_deref().filter(|_| frame.caller.user.is_none());
    let incoming = Incoming {
        token: None,
        version: Some(problem.newest.id),
        author: frame.caller.id(),
        origin: store::PARTICIPANT,
        visitor,
        language: &language,
        files: files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect(),
        details: Details::default(),
        urgency: Urgency::Live,
        contest: contest.map(|contest| contest.id),
        callback: None,
    };
    Ok(submit(service, incoming).await?.token)
}

async fn try_out(service: &Service, frame: &Frame, name: &str, posted: &Posted) -> Result<String, Refusal> {
    let files = files(posted)?;
    let submitted = Submitted {
        problem: name,
        contest: said(&posted.contest),
        language: said(&posted.language),
        files: &files,
    };
    let taken = match posted.on.as_str() {
        "input" => {
            let input = posted.input.replace("\r\n", "\n").into_bytes();
            on_input(service, &frame.caller, &submitted, input).await?
        }
        _ => on_samples(service, &frame.caller, &submitted).await?,
    };
    Ok(taken.token)
}

/// A field of the form that was filled in.
fn said(field: &str) -> Option<&str> {
    Some(field).filter(|field| !field.is_empty())
}

/// The files of a form: those that were chosen, else the one that was typed.
fn files(posted: &Posted) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let typed = !posted.source.trim().is_empty();
    if !posted.files.is_empty() {
        if typed {
            // Whichever is taken, the other would be thrown away unseen.
            let why = "a file was chosen and the editor has a program, too\nhint: clear one of them";
            return Err(Refusal::Bad(why.into()));
        }
        return Ok(named_for(&posted.language, posted.files.clone()));
    }
    if !typed {
        return Err(Refusal::Bad("nothing to judge\nhint: choose a file or write a program".into()));
    }
    // Browsers post line ends as CR LF.
    let source = posted.source.replace("\r\n", "\n");
    let language = match (posted.language.as_str(), posted.named.as_str()) {
        ("", "") => {
            return Err(Refusal::Bad(
                "language: the text does not tell which it is\nhint: choose one".into(),
            ));
        }
        ("", named) => words::table().detect(&[(named, source.as_bytes())], None),
        (language, _) => words::table().named(language),
    };
    let language = language.map_err(|e| Refusal::Bad(format!("language: {e}")))?;
    Ok(vec![(file_name(language, &source, &posted.named), source.into_bytes())])
}

/// A lone file under a name that the chosen language takes: what was chosen counts, not what the file is called.
fn named_for(chosen: &str, mut files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    if let [(name, bytes)] = &mut files[..]
        && let Ok(language) = words::table().named(chosen)
        && let Ok(source) = std::str::from_utf8(bytes)
    {
        *name = file_name(language, source, name);
    }
    files
}

/// The name that a program which was typed gets: that of the file it began as, where the language takes it; and Java's compiler wants that of its
/// public class.
fn file_name(language: &Language, source: &str, named: &str) -> String {
    let class = || {
        let after =
            source.split_once("public class ").or_else(|| source.split_once("public final class "))?.1;
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        Some(&after[..end]).filter(|class| !class.is_empty())
    };
    let class = matches!(language.entry, EntryRule::Java).then(class).flatten();
    let is_plain = !named.is_empty() && !named.contains(['/', '\\', '\0', '\n']);
    if is_plain && language.is_source(named) && class.is_none() {
        return named.to_string();
    }
    let stem = match language.entry {
        EntryRule::Java => class.unwrap_or("Main"),
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
            "contest" => posted.contest = text(field).await?,
            "named" => posted.named = text(field).await?,
            "source" => posted.source = text(field).await?,
            "on" => posted.on = text(field).await?,
            "input" => posted.input = text(field).await?,
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
        let size: usize = posted.files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
            + posted.source.len()
            + posted.input.len();
        if size > LARGEST || posted.files.len() > FILES {
            return Err(Refusal::TooLarge(format!(
                "files: at most {FILES} of {} KiB together",
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
    fn the_language_that_was_chosen_counts_whatever_a_file_is_called() {
        for (language, named, source, name) in [
            ("", "fence.py", "print(1)", "fence.py"),
            ("python3", "fence.py", "print(1)", "fence.py"),
            ("cpp", "fence.py", "int main(){}", "main.cc"),
            ("cpp", "a/b.cpp", "int main(){}", "main.cc"),
            ("java", "A.java", "public class B {}", "B.java"),
            ("java", "A.java", "class A {}", "A.java"),
        ] {
            let typed = Posted {
                language: language.into(),
                source: source.into(),
                named: named.into(),
                ..Posted::default()
            };
            assert_eq!(files(&typed).unwrap()[0].0, name, "{language} {named}");
            let file = vec![(named.to_string(), source.as_bytes().to_vec())];
            let chosen = Posted { language: language.into(), files: file, ..Posted::default() };
            assert_eq!(files(&chosen).unwrap()[0].0, name, "{language} {named}, as a file");
        }
    }

    #[test]
    fn what_would_be_thrown_away_is_refused() {
        let file = vec![("a.py".to_string(), b"print(1)".to_vec())];
        let both = Posted { source: "print(2)".into(), files: file.clone(), ..Posted::default() };
        assert!(matches!(files(&both), Err(Refusal::Bad(why)) if why.contains("a file was chosen")));
        let one = Posted { source: " \r\n".into(), files: file.clone(), ..Posted::default() };
        assert_eq!(files(&one).unwrap(), file);
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
