//! Events as they come: lines on standard output, warnings and a bar on standard error.

use crate::terminal::{self, print, print_error};
use indicatif::{ProgressBar, ProgressStyle};
use model::{Event, JudgePhase};
use report::text::{Style, test_line, warning_line};
use std::time::Duration;

/// Shows the course of long work. The bar is there only on a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Every test has a line of its own.
    test_lines: bool,
    pub(crate) style: Style,
    error_style: Style,
}

impl Progress {
    /// For `total` things to do; 1 shows no count.
    pub(crate) fn new(total: u64, test_lines: bool) -> Progress {
        let bar = ProgressBar::new(total);
        let template = if total == 1 { "{spinner} {msg}" } else { "{spinner} {pos}/{len} {msg}" };
        // A template that does not parse leaves the usual look.
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(Duration::from_millis(200));
        let (style, error_style) = (terminal::style(), terminal::error_style());
        Progress { bar, test_lines, style, error_style }
    }

    /// Shows an event.
    pub(crate) fn tell(&self, event: &Event) {
        match event {
            Event::Warning { place, message } => {
                let line = warning_line(place, message, self.error_style);
                self.bar.suspend(|| print_error(&format!("{line}\n")));
            }
            Event::Phase { submission, phase } => {
                let doing = doing(*phase);
                let of = submission.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
                self.bar.set_message(format!("{doing}{of}"));
            }
            Event::TimeLimit { limit, source } if self.test_lines => {
                self.line(&format!("time limit {limit} ({source})\n"));
            }
            Event::TestFinished { result, .. } if self.test_lines => {
                self.line(&format!("{}\n", test_line(result, self.style)));
            }
            Event::TestFinished { submission, result } => {
                self.bar.set_message(format!("judging {submission}: {} {}", result.name, result.verdict));
            }
            Event::TimeLimit { .. } | Event::SubmissionStarted { .. } | Event::SubmissionFinished { .. } => {}
        }
    }

    /// Text that ends with a line end, on standard output.
    pub(crate) fn line(&self, text: &str) {
        self.bar.suspend(|| print(text));
    }

    /// What is being done.
    pub(crate) fn at(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// One more thing is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// All is done: nothing of the bar stays.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn doing(phase: JudgePhase) -> &'static str {
    match phase {
        JudgePhase::Reading => "reading",
        JudgePhase::PreparingValidators => "compiling the package's programs",
        JudgePhase::Compiling => "compiling",
        JudgePhase::InferringTimeLimit => "finding the time limit with",
        JudgePhase::Judging => "judging",
        JudgePhase::WaitingForCalm => "waiting for a calm machine to judge",
    }
}
