//! Small packages for the tests of this module.

use super::{Entry, FileTree, Package, PackageError, TestGroup, Warning, read};

/// A tree from paths and contents. A path that ends with `/` is an empty directory.
pub(super) fn tree(files: &[(&str, &str)]) -> FileTree {
    let mut tree = FileTree { name: "problem".to_string(), ..FileTree::default() };
    for (path, content) in files {
        match path.strip_suffix('/') {
            Some(directory) => tree.directories.push(directory.to_string()),
            None => {
                let content = content.as_bytes().to_vec();
                let entry = Entry { size: content.len() as u64, executable: false, content: Some(content) };
                tree.files.insert(path.to_string(), entry);
            }
        }
    }
    tree
}

/// A package with one secret test case and these files in addition.
pub(super) fn package_with(files: &[(&str, &str)]) -> Result<(Package, Vec<Warning>), PackageError> {
    let mut all = vec![("problem.yaml", ""), ("data/secret/1.in", ""), ("data/secret/1.ans", "")];
    all.extend(files);
    read(&tree(&all))
}

/// Reads it, and asserts that the warnings are those that begin like this.
pub(super) fn read_warned(files: &[(&str, &str)], expected: &[&str]) -> Package {
    let (package, warnings) = package_with(files).unwrap_or_else(|error| panic!("{error}\n{files:?}"));
    let warnings: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    let all =
        warnings.len() == expected.len() && warnings.iter().zip(expected).all(|(w, e)| w.starts_with(e));
    assert!(all, "found {warnings:#?}, expected {expected:#?}");
    package
}

/// Reads it, and asserts that there is nothing to warn of.
pub(super) fn read_clean(files: &[(&str, &str)]) -> Package {
    read_warned(files, &[])
}

/// The error it is refused with.
pub(super) fn refusal(files: &[(&str, &str)]) -> String {
    match package_with(files) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("was read: {files:?}"),
    }
}

fn pairs(names: &[&str]) -> Vec<(String, String)> {
    let pair = |name: &&str| {
        [(format!("data/{name}.in"), String::new()), (format!("data/{name}.ans"), String::new())]
    };
    names.iter().flat_map(pair).collect()
}

/// Reads a package with this `problem.yaml`, empty cases of these names and these other files.
pub(super) fn data(yaml: &str, cases: &[&str], files: &[(&str, &str)], warned: &[&str]) -> TestGroup {
    let cases = pairs(cases);
    let mut all: Vec<(&str, &str)> = vec![("problem.yaml", yaml)];
    all.extend(cases.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    all.extend(files);
    let (package, warnings) = read(&tree(&all)).unwrap();
    let warnings: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    assert_eq!(warnings.len(), warned.len(), "{warnings:#?}");
    warnings.iter().zip(warned).for_each(|(found, start)| assert!(found.starts_with(start), "{found}"));
    package.data
}

/// The group of this name.
pub(super) fn find<'a>(group: &'a TestGroup, name: &str) -> &'a TestGroup {
    let inner =
        group.groups.iter().find(|inner| name == inner.name || name.starts_with(&format!("{}/", inner.name)));
    if group.name == name { group } else { find(inner.unwrap_or_else(|| panic!("no {name}")), name) }
}
