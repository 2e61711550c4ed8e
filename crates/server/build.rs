//! Packs the example problems, so that a service that starts for the first time has something to judge, and lists the
//! documents that it shows.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

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
        let zip = out.join(format!("{name}.zip"));
        pack(&directory, &zip)?;
        list += &format!("    (\"{name}\", include_bytes!({:?})),\n", zip.display().to_string());
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

/// The same files give the same bytes: a package is known by its hash.
fn pack(directory: &Path, to: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(File::create(to)?);
    add(&mut zip, directory, "")?;
    zip.finish()?;
    Ok(())
}

fn add(zip: &mut ZipWriter<File>, directory: &Path, below: &str) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    for (name, path) in inside(directory)? {
        let name = format!("{below}{name}");
        if path.is_dir() {
            add(zip, &path, &format!("{name}/"))?;
            continue;
        }
        zip.start_file(name, options.unix_permissions(mode(&path)?))?;
        zip.write_all(&fs::read(&path)?)?;
    }
    Ok(())
}

/// Only whether it may be executed matters; what else the user's umask says would change the hash.
fn mode(path: &Path) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    let executable = fs::metadata(path)?.permissions().mode() & 0o100 != 0;
    Ok(if executable { 0o755 } else { 0o644 })
}
