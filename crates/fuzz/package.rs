//! Problem packages as strangers write them: the first line of each part is the path of a file, the rest its content.
#![no_main]

use judge::package::convert::to_2025_09;
use judge::package::{Entry, FileTree, read};
use libfuzzer_sys::fuzz_target;
use std::path::{Component, Path};

/// What parts begin with.
const MARK: &str = "=== ";

fn tree(text: &str) -> FileTree {
    let mut tree = FileTree { name: "problem".into(), ..FileTree::default() };
    for part in text.split(MARK) {
        let (path, content) = part.split_once('\n').unwrap_or((part, ""));
        // What reads directories and archives gives no other paths.
        if path.is_empty() || Path::new(path).components().any(|part| !matches!(part, Component::Normal(_))) {
            continue;
        }
        let size = content.len() as u64;
        let content = FileTree::wants_content(path, size).then(|| content.as_bytes().to_vec());
        tree.files.insert(path.into(), Entry { size, executable: false, content });
    }
    tree
}

fuzz_target!(|text: &str| {
    let tree = tree(text);
    let found = read(&tree);
    assert_eq!(format!("{found:?}"), format!("{:?}", read(&tree)), "the same files are the same package");
    match found {
        Ok((package, warnings)) => {
            assert!(!package.title.is_empty() || text.contains("name"), "a package has a title");
            assert!(warnings.iter().all(|warning| !warning.place.is_empty()), "{warnings:?}");
            if let Ok((files, _)) = to_2025_09(&package, &tree) {
                let leaves = |path: &str| {
                    !Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
                };
                assert!(!files.iter().any(|file| leaves(&file.path)), "{files:?}");
            }
        }
        Err(error) => assert!(error.to_string().contains(": "), "an error names its place: {error}"),
    }
});
