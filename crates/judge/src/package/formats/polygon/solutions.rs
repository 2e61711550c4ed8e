//! Solutions and what their tags promise; files that are compiled with them.

use super::super::super::{
    Expectation, Include, JurySubmission, OwnLimits, Package, PackageError, Program, TimeBounds, Warning,
};
use super::{Reader, error, language, warning};
use model::Verdict;

use Verdict::{
    Accepted as AC, MemoryLimit as MLE, OutputLimit as OLE, RunTimeError as RTE, TimeLimit as TLE,
    WrongAnswer as WA,
};

/// Every verdict of a test but acceptance.
const REJECTED: [Verdict; 5] = [WA, TLE, RTE, MLE, OLE];

pub(super) fn read(
    reader: &Reader,
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    for solution in reader.root.all("assets/solutions", "solution") {
        let source =
            solution.child("source").ok_or_else(|| error(solution, "solution", "has no `source`"))?;
        let tag = solution.attribute("tag").unwrap_or_default();
        let file = reader.source(source, "solution")?;
        if reader.windows_only(&file.path) {
            let message =
                format!("`{}` includes windows.h and cannot be judged on Linux; left out", file.path);
            warnings.push(warning(source, "solution", message));
            continue;
        }
        let Some(expectation) = promise(tag) else {
            if tag != "do-not-run" {
                let message = format!(
                    "the tag `{tag}` of `{}` is not known, so nothing is expected; left out",
                    file.path
                );
                warnings.push(warning(solution, "solution", message));
            }
            continue;
        };
        let language = source.attribute("type").and_then(language).map(str::to_string);
        let program = Program { path: file.path.clone(), files: vec![file], ..Program::default() };
        let bounds = TimeBounds { lower: expectation.verdicts == [AC], upper: tag == "time-limit-exceeded" };
        package.submissions.push(JurySubmission {
            program,
            expectation,
            language,
            entry_point: None,
            limits: OwnLimits::default(),
            bounds,
        });
    }
    package.submissions.sort_by(|a, b| a.program.path.cmp(&b.program.path));
    for file in reader.root.all("files/resources", "file") {
        let with_solutions =
            file.all("assets", "asset").any(|asset| asset.attribute("name") == Some("solution"));
        if with_solutions {
            let found = reader.source(file, "files.resources")?;
            let kind = file.attribute("type").unwrap_or_default();
            let language =
                language(kind).or_else(|| kind.starts_with("h.").then_some("cpp")).map(str::to_string);
            package.include.push(Include { language, files: vec![found], ..Include::default() });
        }
    }
    Ok(())
}

/// What a tag promises; `None`: nothing.
fn promise(tag: &str) -> Option<Expectation> {
    let only = |others: &[Verdict], required: &[Verdict]| Expectation {
        permitted: Some([AC].iter().chain(others).copied().collect()),
        required: required.iter().copied().collect(),
        ..Expectation::default()
    };
    Some(match tag {
        "main" | "accepted" => Expectation { verdicts: vec![AC], ..only(&[], &[]) },
        "wrong-answer" | "presentation-error" => only(&[WA], &[WA]),
        "time-limit-exceeded" => only(&[TLE], &[TLE]),
        "memory-limit-exceeded" => only(&[MLE, RTE], &[MLE, RTE]),
        "runtime-error" => only(&[RTE], &[RTE]),
        "time-limit-exceeded-or-accepted" => only(&[TLE], &[]),
        "time-limit-exceeded-or-memory-limit-exceeded" => only(&[TLE, MLE, RTE], &[TLE, MLE, RTE]),
        "rejected" | "failed" => Expectation { required: REJECTED.into(), ..Expectation::default() },
        _ => return None,
    })
}
