//! Numbered forms of data that one version of this program writes and another reads: files, database rows, messages.

use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// The forms of one kind of thing that are read. The newest is the one that is written.
///
/// Stored data is read in all forms from 1 on, for ever; what an old form lacks becomes an unknown reading. Each form has a file
/// in the tests of the crate that writes it, and [`Forms::hold`] refuses another one without a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    /// The kind of data, such as `a judgement`.
    pub what: &'static str,
    /// The oldest form that is read.
    pub oldest: u32,
    /// The form that is written.
    pub newest: u32,
}

impl Forms {
    /// The forms of stored data, of which all are read.
    pub const fn kept(what: &'static str, newest: u32) -> Forms {
        Forms { what, oldest: 1, newest }
    }

    /// Checks that the form of this number can be read.
    ///
    /// # Errors
    /// This version does not read it; the text says what to do.
    pub fn read(&self, form: impl Into<i64>) -> Result<u32, String> {
        let (form, Forms { what, oldest, newest }) = (form.into(), self);
        let known = u32::try_from(form).ok().filter(|form| (*oldest..=*newest).contains(form));
        known.ok_or_else(|| {
            let remedy = match form > i64::from(*newest) {
                true => "\nhint: upgrade tauto here",
                false => "",
            };
            format!("form {form} of {what}, and this version knows {oldest} to {newest}{remedy}")
        })
    }

    /// For tests: compares what is written now with the files of all forms, the oldest first.
    ///
    /// # Panics
    /// The form changed without a new number, or a number has no file. The message shows what is written now.
    #[track_caller]
    pub fn hold<T: Display>(&self, written: &T, files: &[T], same: impl Fn(&T, &T) -> bool) {
        let (Forms { what, oldest, newest }, there) = (self, files.len());
        assert!(
            there as u32 == newest - oldest + 1,
            "{what}: forms {oldest} to {newest}, and {there} files; form {newest}:\n{written:#}"
        );
        assert!(
            files.last().is_some_and(|last| same(written, last)),
            "{what} is not written in form {newest}: raise its number, say what changed, and keep this beside the others:\n{written:#}"
        );
    }
}

/// A value with the number of its form, as it is written.
#[derive(Serialize)]
pub struct Numbered<T> {
    /// Its form.
    pub form: u32,
    /// The value.
    #[serde(flatten)]
    pub thing: T,
}

/// The form number of a document that [`Numbered`] wrote; 1 if it has none.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Form {
    /// The number.
    #[serde(default = "first")]
    pub form: u32,
}

fn first() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_from_the_first_to_the_newest_are_read() {
        let forms = Forms::kept("a thing", 3);
        assert_eq!([1, 3].map(|form| forms.read(form)), [Ok(1), Ok(3)]);
        assert_eq!(forms.read(0), Err("form 0 of a thing, and this version knows 1 to 3".into()));
        let later = forms.read(4_i64).unwrap_err();
        assert_eq!(later, "form 4 of a thing, and this version knows 1 to 3\nhint: upgrade tauto here");
        assert!(forms.read(i64::from(u32::MAX) + 2).is_err(), "no number is cut off");
    }

    fn hold(written: &str, files: &[&str]) {
        let files: Vec<String> = files.iter().map(ToString::to_string).collect();
        Forms::kept("a thing", 2).hold(&written.to_string(), &files, String::eq);
    }

    #[test]
    fn what_is_written_is_that_of_the_last_file() {
        hold("b", &["a", "b"]);
    }

    #[test]
    #[should_panic(expected = "raise its number")]
    fn what_is_written_changes_only_with_its_number() {
        hold("c", &["a", "b"]);
    }

    #[test]
    #[should_panic(expected = "forms 1 to 2, and 1 files")]
    fn every_number_has_a_file() {
        hold("b", &["b"]);
    }

    #[test]
    fn what_has_no_number_is_of_the_first_form() {
        let text = serde_json::to_string(&Numbered { form: 2, thing: Named { name: "x" } }).unwrap();
        assert_eq!(text, r#"{"form":2,"name":"x"}"#);
        let form = |text: &str| serde_json::from_str::<Form>(text).unwrap().form;
        assert_eq!((form(&text), form(r#"{"name": "x"}"#)), (2, 1));
    }

    #[derive(Serialize)]
    struct Named {
        name: &'static str,
    }
}
