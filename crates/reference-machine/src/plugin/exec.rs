//! Programs that the program starts. The emulator passes execve(2) on to the kernel, which would run them natively and
//! uncounted; so they are started in another emulator before it comes to that.

use super::count::Counter;
use crate::tally::End;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Scripts may name scripts as their interpreters, so deep (binfmt_script, execve(2)).
const DEEPEST: usize = 5;
/// So much of the first line is looked at (BINPRM_BUF_SIZE).
const HEAD: usize = 256;

/// Before a system call of the program. Returns where it is none of those that start programs, or would fail.
pub(super) fn before(counter: &Counter, emulator: &[Vec<u8>], number: i64, words: [u64; 5]) {
    let (path, argv, envp) = match number {
        libc::SYS_execve => (words[0], words[1], words[2]),
        // Relative to a descriptor: rare, and fexecve(3) needs /proc of the emulator.
        libc::SYS_execveat => counter.end(End::Exec),
        _ => return,
    };
    // The addresses are the program's own: between equal architectures the emulator maps it where it wants to be.
    // SAFETY: the kernel is about to read the same addresses; a program that passes wrong ones ends here instead of there.
    let (path, argv, envp) = unsafe { (text(path), texts(argv), texts(envp)) };
    let Some(path) = path else { return };
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let Some(mut words) = resolved(&path, argv, DEEPEST) else { return };
    let mut command = emulator.to_vec();
    command.append(&mut words);
    let Some(command) = command.into_iter().map(|word| CString::new(word).ok()).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let Some(envp) = envp.into_iter().map(|word| CString::new(word).ok()).collect::<Option<Vec<_>>>() else {
        return;
    };
    counter.give_back();
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(&command), pointers(&envp));
    // SAFETY: both lists end with null and live until the call, which returns only where it fails.
    unsafe { libc::execve(argv[0], argv.as_ptr(), envp.as_ptr()) };
    // The kernel's answer to the program could be another one, and then it would run uncounted.
    counter.end(End::Exec);
}

/// What the emulator is given for a program: `-0 NAME PATH ARGUMENTS…`, scripts resolved to their interpreters. `None` where
/// the kernel would refuse it.
fn resolved(path: &Path, argv: Vec<Vec<u8>>, deepest: usize) -> Option<Vec<Vec<u8>>> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
    let Some(script) = head.strip_prefix(b"#!") else {
        let name = argv.first().cloned().unwrap_or_default();
        let rest = argv.into_iter().skip(1);
        let front = [b"-0".to_vec(), name, path.as_os_str().as_bytes().to_vec()];
        return Some(front.into_iter().chain(rest).collect());
    };
    let line = script.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let cut = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
    let (interpreter, argument) = (line[..cut].to_vec(), line[cut..].trim_ascii().to_vec());
    let mut words = vec![interpreter.clone()];
    words.extend(Some(argument).filter(|argument| !argument.is_empty()));
    words.push(path.as_os_str().as_bytes().to_vec());
    words.extend(argv.into_iter().skip(1));
    resolved(Path::new(OsStr::from_bytes(&interpreter)), words, deepest.checked_sub(1)?)
}

/// # Safety
/// `at` is null or the address of a text that ends with a zero byte.
unsafe fn text(at: u64) -> Option<Vec<u8>> {
    // SAFETY: promised by the caller.
    (at != 0).then(|| unsafe { CStr::from_ptr(at as *const c_char) }.to_bytes().to_vec())
}

/// # Safety
/// `at` is null or the address of a list of texts that ends with null.
unsafe fn texts(at: u64) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    let mut next = at as *const u64;
    // SAFETY: promised by the caller.
    unsafe {
        while !next.is_null() {
            let Some(word) = text(next.read_unaligned()) else { break };
            texts.push(word);
            next = next.add(1);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_given_to_their_interpreters() {
        let dir = std::env::temp_dir().join(format!("exec-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let make = |name: &str, text: &str, mode: u32| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let binary = make("binary", "\x7fELF", 0o755);
        let script = make("script", &format!("#! {} -x y \nrest", binary.display()), 0o755);
        let nested = make("nested", &format!("#!{}\n", script.display()), 0o755);
        let own = make("own", &format!("#!{}", dir.join("own").display()), 0o755);
        let plain = make("plain", "#!/bin/sh\n", 0o644);
        let words = |path: &Path| {
            let argv = ["name", "one"].map(|word| word.as_bytes().to_vec()).to_vec();
            let words = resolved(path, argv, DEEPEST)?;
            let shown = words
                .iter()
                .map(|word| String::from_utf8_lossy(word).replace(&format!("{}/", dir.display()), ""));
            Some(shown.collect::<Vec<_>>().join("|"))
        };
        assert_eq!(words(&binary).as_deref(), Some("-0|name|binary|one"));
        assert_eq!(words(&script).as_deref(), Some("-0|binary|binary|-x y|script|one"));
        assert_eq!(words(&nested).as_deref(), Some("-0|binary|binary|-x y|script|nested|one"));
        assert_eq!(words(&own), None);
        assert_eq!(words(&plain), None);
        assert_eq!(words(&dir), None);
        assert_eq!(words(&dir.join("gone")), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
