//! Lists the files of the example problems, so that a service that starts for the first time has something to judge, and lists the
//! documents that it shows.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let examples = own.join("../../examples");
    println!("cargo::rerun-if-changed={}", examples.display());
    let mut list = String::from("&[\n");
    for (name, directory) in inside(&examples)? {
        if !directory.join("problem.yaml").is_file() {
            continue;
        }
        list += &format!("    ({name:?}, &[\n");
        add(&mut list, &directory, "")?;
        list += "    ]),\n";
    }
    fs::write(out.join("examples.rs"), list + "]\n")?;
    book(&own.join("../.."), &out)
}

/// Lists the documents, and the pictures in them.
fn book(root: &Path, out: &Path) -> io::Result<()> {
    let docs = root.join("docs");
    let mut files = inside(&docs)?;
    // What README.md says is on the book's first page.
    files.extend(inside(root)?.into_iter().filter(|(name, _)| name != "README.md"));
    let mut documents = String::from("&[\n");
    for (name, path) in &files {
        if let Some(name) = name.strip_suffix(".md") {
            println!("cargo::rerun-if-changed={}", path.display());
            documents += &format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string());
        }
    }
    fs::write(out.join("documents.rs"), documents + "]\n")?;
    let mut pictures = String::from("&[\n");
    println!("cargo::rerun-if-changed={}", docs.join("pictures").display());
    for (name, path) in inside(&docs.join("pictures"))? {
        pictures += &format!("    ({name:?}, include_bytes!({:?})),\n", path.display().to_string());
    }
    fs::write(out.join("pictures.rs"), pictures + "]\n")
}

/// What is in a directory, by name.
fn inside(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let named = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
    };
    let mut all: Vec<_> = fs::read_dir(directory)?.map(named).collect::<io::Result<_>>()?;
    all.sort();
    Ok(all)
}

/// Adds the files in a directory to a list, each with its path, its content, and whether it may be executed.
fn add(list: &mut String, directory: &Path, below: &str) -> io::Result<()> {
    for (name, path) in inside(directory)? {
        let name = format!("{below}{name}");
        if path.is_dir() {
            add(list, &path, &format!("{name}/"))?;
            continue;
        }
        let executable = fs::metadata(&path)?.permissions().mode() & 0o100 != 0;
        *list +=
            &format!("        ({name:?}, include_bytes!({:?}), {executable}),\n", path.display().to_string());
    }
    Ok(())
}
