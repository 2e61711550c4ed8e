//! Formats that are none of Kattis': each has an importer, which reads it into the same [`Package`] in memory.
//!
//! An importer lies in a directory of its own and is named in [`IMPORTERS`] alone. What a format has that the model lacks is added
//! to [`FormatFeatures`], which the engine understands whichever format it comes from.

mod cms;
mod dmoj;
mod polygon;
mod tps;

use super::{
    FileTree, Format, FormatFeatures, Grading, GroupSettings, Inference, JurySubmission, Package,
    PackageError, PackageLimits, SourceFile, TestCase, TestGroup, TimeLimit, Validator, Warning,
};

/// Reads packages of one format.
pub(super) struct Importer {
    /// What the format is called in reports.
    pub(super) name: &'static str,
    /// The file in a package's root by which it is known.
    pub(super) mark: &'static str,
    /// Files whose bytes it needs, besides its mark.
    wants: fn(&str) -> bool,
    /// Zip archives in the package whose files belong to it, each below the archive's own path.
    archives: fn(&FileTree) -> Vec<String>,
    /// Reads it.
    pub(super) read: fn(&FileTree, &mut Vec<Warning>) -> Result<Package, PackageError>,
}

/// All of them, in the order in which their marks are looked for.
const IMPORTERS: [Importer; 5] =
    [polygon::IMPORTER, polygon::CONTEST, cms::IMPORTER, tps::IMPORTER, dmoj::IMPORTER];

/// Endings of sources, and the package language code of each.
const LANGUAGES: [(&str, &str); 10] = [
    ("cpp", "cpp"),
    ("cc", "cpp"),
    ("c", "c"),
    ("pas", "pascal"),
    ("java", "java"),
    ("py", "python3"),
    ("rs", "rust"),
    ("hs", "haskell"),
    ("cs", "csharp"),
    ("php", "php"),
];
/// What a file begins with in whose place Git keeps a pointer (git-lfs, docs/spec.md).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Sizes of such pointers: fixed words, a digest of 64 digits, and a size of some digits.
const POINTER_SIZES: std::ops::RangeInclusive<u64> = 120..=150;

/// The importer of the package's format; `None`: it is one of Kattis'.
pub(super) fn importer_for(tree: &FileTree) -> Option<&'static Importer> {
    // A package that has both marks was converted, and what came of that is what its authors mean.
    let kattis = tree.files.contains_key("problem.yaml");
    IMPORTERS.iter().find(|importer| !kattis && tree.files.contains_key(importer.mark))
}

/// Whether some importer needs the bytes of a file, or whether it may be a pointer.
pub(super) fn wants_content(path: &str, size: u64) -> bool {
    POINTER_SIZES.contains(&size)
        || IMPORTERS.iter().any(|importer| path == importer.mark || (importer.wants)(path))
}

/// Paths of the zip archives in a package whose files belong to it, each under the archive's path and `/`.
pub fn archives(tree: &FileTree) -> Vec<String> {
    importer_for(tree).map(|importer| (importer.archives)(tree)).unwrap_or_default()
}

/// Refuses packages in which pointers stand where files are to be.
pub(super) fn refuse_pointers(tree: &FileTree) -> Result<(), PackageError> {
    let pointer = |content: &Vec<u8>| content.starts_with(POINTER);
    let mut found = tree.files.iter().filter(|(_, entry)| entry.content.as_ref().is_some_and(pointer));
    let Some((first, _)) = found.next() else { return Ok(()) };
    let message = format!(
        "is a Git LFS pointer and not the file itself, as {} others are\nhint: git lfs pull",
        found.count()
    );
    Err(PackageError::new(first.as_str(), message))
}

/// A package of this format without tests, to be filled.
fn blank(tree: &FileTree, format: &'static str) -> Package {
    let rule = Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 };
    Package {
        short_name: tree.name.clone(),
        title: tree.name.clone(),
        format: Format::Foreign(format),
        scoring: false,
        interactive: false,
        multi_pass: false,
        submit_answer: false,
        limits: PackageLimits {
            time: TimeLimit::Inferred(rule),
            rule,
            memory: None,
            output: None,
            code: None,
            compilation_time: None,
            compilation_memory: None,
            validation_time: None,
            validation_memory: None,
            validation_output: None,
            passes: 1,
        },
        validator: Validator::Default,
        data: group("", Grading::PassFail, None),
        grader: None,
        include: Vec::new(),
        submissions: Vec::<JurySubmission>::new(),
        languages: None,
        constants: Vec::new(),
        maximise: true,
        features: FormatFeatures::default(),
    }
}

/// A group without members.
fn group(name: &str, grading: Grading, max_score: Option<f64>) -> TestGroup {
    let settings = GroupSettings {
        break_on_reject: false,
        grading,
        accept_score: 1.0,
        reject_score: 0.0,
        range: None,
        max_score,
        require_pass: Vec::new(),
    };
    TestGroup { name: name.to_string(), settings, groups: Vec::new(), cases: Vec::new() }
}

/// The test data with these members of `secret`: all must be accepted, or, where points are given, their points are
/// added.
fn data(scoring: bool, groups: Vec<TestGroup>, cases: Vec<TestCase>) -> TestGroup {
    let of_groups = groups.iter().filter_map(|group| group.settings.max_score).sum::<f64>();
    let of_cases = cases.iter().filter_map(|case| case.points).sum::<f64>();
    let secret = match scoring {
        true => group("secret", Grading::Sum, Some(of_groups + of_cases)),
        false => group("secret", Grading::PassFail, None),
    };
    let secret = TestGroup { groups, cases, ..secret };
    TestGroup { groups: vec![secret], ..group("", Grading::Sum, None) }
}

/// A file of the package under its last name.
fn source_file(tree: &FileTree, path: &str) -> SourceFile {
    let name = path.rsplit('/').next().unwrap_or(path).to_string();
    let executable = tree.files.get(path).is_some_and(|entry| entry.executable);
    SourceFile { path: path.to_string(), name, executable }
}

/// `n` of `of` with as many digits as the largest, so that the order of names is the order of numbers.
fn numbered(n: usize, of: usize) -> String {
    let digits = of.max(1).to_string().len();
    format!("{n:0digits$}")
}

#[cfg(test)]
mod tests {
    use super::super::{read, testing::tree};

    #[test]
    fn pointers_are_refused_in_every_format() {
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
            "0".repeat(64)
        );
        for mark in ["problem.yaml", "init.yml"] {
            let files = [(mark, ""), ("data/secret/1.in", pointer.as_str()), ("b.in", pointer.as_str())];
            let error = read(&tree(&files)).unwrap_err().to_string();
            assert!(error.starts_with("b.in: is a Git LFS pointer"), "{error}");
        }
        assert!(super::wants_content("data/secret/1.in", pointer.len() as u64));
    }
}
