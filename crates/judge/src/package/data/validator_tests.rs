//! Test data for the validators themselves, which no submission is judged by (2025-09, "Validation test data").

use super::super::field::Section;
use super::super::problem::Problem;
use super::super::settings::{self, Inherited, Style};
use super::super::{FileTree, PackageError, ValidatorTest, Warning};
use super::{Context, DEPTH_LIMIT, case, subdirectories};
use std::collections::BTreeMap;

/// Where it lies, in the names of 2025-09 and of its drafts: whether it is an output, and whether it is right.
const PROOFS: [(&str, bool, bool); 6] = [
    ("data/invalid_input", false, false),
    ("data/invalid_inputs", false, false),
    ("data/invalid_output", true, false),
    ("data/invalid_outputs", true, false),
    ("data/valid_output", true, true),
    ("data/valid_outputs", true, true),
];

/// What the validators must accept or reject. Packages of legacy have none.
pub(in crate::package) fn validator_tests(
    tree: &FileTree,
    problem: &Problem,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ValidatorTest>, PackageError> {
    let mut found = Vec::new();
    if !problem.is_new() {
        return Ok(found);
    }
    let context = Context { tree, problem, style: Style::New { scoring: false }, files: BTreeMap::new() };
    for (directory, output, good) in PROOFS {
        if output && (problem.interactive || problem.multi_pass) {
            if tree.below(&format!("{directory}/")).next().is_some() {
                warnings.push(Warning::new(
                    directory,
                    "is not checked: the problem is interactive or multi-pass",
                ));
            }
            continue;
        }
        let mut open = vec![(directory.to_string(), Inherited::default())];
        while let Some((directory, above)) = open.pop() {
            if directory.matches('/').count() > DEPTH_LIMIT {
                let why = format!("is more than {DEPTH_LIMIT} directories deep");
                return Err(PackageError::new(directory, why));
            }
            let own = match settings::file(tree, &directory, true, warnings)? {
                Some((path, root)) => settings::inherit(&Section::root(&path, &root)?, &above, warnings)?,
                None => above,
            };
            for child in tree.children(&directory).into_iter().filter(|child| !child.directory) {
                let Some(stem) = child.name.strip_suffix(".in") else { continue };
                let printed = output.then(|| format!("{directory}/{stem}.out"));
                if let Some(missing) = printed.as_ref().filter(|path| !tree.files.contains_key(*path)) {
                    warnings.push(Warning::new(child.path, format!("is not checked: there is no {missing}")));
                    continue;
                }
                let case = case(&context, &directory, stem, &own, warnings)?;
                found.push(ValidatorTest { case, output: printed, good });
            }
            open.extend(subdirectories(tree, &directory).into_iter().map(|path| (path, own.clone())));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::*;

    const NEW: (&str, &str) = ("problem.yaml", "problem_format_version: 2025-09\n");

    #[test]
    fn inputs_and_outputs_that_validators_are_tried_with() {
        let files = [
            NEW,
            ("input_validators/v.py", ""),
            ("data/invalid_input/test_group.yaml", "input_validator_args: [small]\n"),
            ("data/invalid_input/deep/1.in", ""),
            ("data/invalid_output/2.in", ""),
            ("data/invalid_output/2.ans", ""),
            ("data/invalid_output/2.out", ""),
            ("data/valid_output/3.in", ""),
            ("data/valid_output/3.yaml", "output_validator_args: [loose]\n"),
            ("data/valid_output/3.out", ""),
        ];
        let features = read_clean(&files).features;
        let told: Vec<_> = features
            .validator_tests
            .iter()
            .map(|p| (p.case.name.as_str(), p.output.as_deref(), p.good))
            .collect();
        assert_eq!(
            told,
            [
                ("invalid_input/deep/1", None, false),
                ("invalid_output/2", Some("data/invalid_output/2.out"), false),
                ("valid_output/3", Some("data/valid_output/3.out"), true),
            ]
        );
        assert_eq!(features.validator_tests[2].case.validator_flags, ["loose"]);
        // The inputs of outputs are valid (2025-09, "Invalid output").
        let runs: Vec<_> = features.checks[0]
            .runs
            .iter()
            .map(|run| (run.file.as_str(), run.good, run.args.join(" ")))
            .collect();
        let none = String::new;
        assert_eq!(
            runs,
            [
                ("data/secret/1.in", true, none()),
                ("data/invalid_input/deep/1.in", false, "small".into()),
                ("data/invalid_output/2.in", true, none()),
                ("data/valid_output/3.in", true, none()),
            ]
        );
    }

    #[test]
    fn what_cannot_be_looked_at_is_told() {
        read_warned(
            &[NEW, ("data/valid_output/1.in", "")],
            &["data/valid_output/1.in: is not checked: there is no"],
        );
        let interactive = ("problem.yaml", "problem_format_version: 2025-09\ntype: interactive\n");
        let files = [interactive, ("output_validator/v.py", ""), ("data/valid_output/1.in", "")];
        read_warned(&files, &["data/valid_output: is not checked"]);
        // Legacy knows no such data.
        assert!(read_clean(&[("data/invalid_input/1.in", "")]).features.validator_tests.is_empty());
    }
}
