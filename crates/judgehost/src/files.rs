//! Files that a server gives: sources, tests, executables; and how executables are built.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde::Deserialize;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name; from outside, so to be looked at before it is used as one.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
    /// It is to be executable.
    pub executable: bool,
}

#[derive(Deserialize)]
struct Wire<'a> {
    filename: String,
    #[serde(borrow)]
    content: std::borrow::Cow<'a, str>,
    #[serde(default)]
    is_executable: Option<bool>,
}

/// Reads a list of files.
///
/// # Errors
/// It is none.
pub fn read(answer: &[u8]) -> Result<Vec<File>, String> {
    let list: Vec<Wire> = serde_json::from_slice(answer).map_err(|e| format!("a list of files: {e}"))?;
    let file = |wire: Wire| {
        let content = STANDARD.decode(wire.content.as_bytes());
        let content = content.map_err(|e| format!("the file `{}`: {e}", wire.filename))?;
        Ok(File { name: wire.filename, content, executable: wire.is_executable.unwrap_or(false) })
    };
    list.into_iter().map(file).collect()
}

/// MD5 in hexadecimal digits.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of an executable: MD5 over the files in order of their names, of each the MD5 of its content, its name, and `1` where it is
/// executable.
pub fn executable_hash(files: &[File]) -> String {
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    let part = |file: &&File| {
        format!("{}{}{}", md5_hex(&file.content), file.name, if file.executable { "1" } else { "" })
    };
    md5_hex(sorted.iter().map(part).collect::<String>().as_bytes())
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testcase {
    /// What the submission reads.
    pub input: Vec<u8>,
    /// The jury's answer.
    pub answer: Vec<u8>,
}

/// Takes a test out of its two files.
///
/// # Errors
/// They are not these, or not what the hash says.
pub fn testcase(files: Vec<File>, hash: &str) -> Result<Testcase, String> {
    let mut found = (None, None);
    for file in files {
        match file.name.as_str() {
            "input" => found.0 = Some(file.content),
            "output" => found.1 = Some(file.content),
            other => return Err(format!("a test has a file `{other}`")),
        }
    }
    let (Some(input), Some(answer)) = found else {
        return Err("a test has no input or no answer".to_owned());
    };
    let is = format!("{}_{}", md5_hex(&input), md5_hex(&answer));
    match is.eq_ignore_ascii_case(hash) {
        true => Ok(Testcase { input, answer }),
        false => Err(format!("the test's files have the hash {is}, not {hash}")),
    }
}

/// What is built of an executable that has no `build` and no `run`, by the extensions of its files, in this order.
const BY_EXTENSION: [(&[&str], &str); 4] = [
    (&["c"], "gcc -Wall -O2 -std=gnu11 'FILE' -o run -lm\n"),
    (&["cpp", "cc", "cxx", "c++"], "g++ -Wall -O2 -std=gnu++20 'FILE' -o run\n"),
    (
        &["java"],
        "javac -d . 'FILE' && printf '%s\\n' '#!/bin/sh' 'exec java -cp \"$(dirname \"$0\")\" STEM \"$@\"' >run && chmod +x run\n",
    ),
    (
        &["py"],
        "printf '%s\\n' '#!/bin/sh' 'exec python3 \"$(dirname \"$0\")/FILE\" \"$@\"' >run && chmod +x run\n",
    ),
];

/// An executable with a way to build it: its own `build` or `run`, or one made for its only source file.
///
/// # Errors
/// There is no way.
pub fn buildable(mut files: Vec<File>) -> Result<Vec<File>, String> {
    let named =
        |files: &[File], name: &str| files.iter().find(|file| file.name == name).map(|f| f.executable);
    let (build, run) = (named(&files, "build"), named(&files, "run"));
    // Where it cannot be executed the host would be blamed for it.
    files.iter_mut().filter(|file| file.name == "run").for_each(|file| file.executable = true);
    match (build, run) {
        (Some(false), _) => return Err("its `build` is not executable".to_owned()),
        (Some(true), _) | (None, Some(_)) => return Ok(files),
        (None, None) => {}
    }
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
    for (extensions, script) in BY_EXTENSION {
        let of = |file: &&File| file.name.rsplit_once('.').is_some_and(|(_, e)| extensions.contains(&e));
        let Some(source) = files.iter().find(of).map(|file| file.name.clone()) else { continue };
        if !plain(&source) || source.starts_with('-') {
            return Err(format!("its source has an unusual name: `{source}`"));
        }
        let stem = source.split('.').next().unwrap_or_default();
        let script = format!("#!/bin/sh\n{}", script.replace("FILE", &source).replace("STEM", stem));
        files.push(File { name: "build".to_owned(), content: script.into_bytes(), executable: true });
        return Ok(files);
    }
    Err("it has neither `build` nor `run` nor a source file in C, C++, Java or Python".to_owned())
}

/// Whether a run executable only starts the program with its input and output, as the usual one of DOMjudge does: then it is left out.
pub fn only_redirects(files: &[File]) -> bool {
    let [file] = files else { return false };
    let text = String::from_utf8_lossy(&file.content);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let squeezed =
        |line: &str| line.chars().filter(|c| !c.is_whitespace() && !"\"{};".contains(*c)).collect();
    let lines: Vec<String> = lines.map(squeezed).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let named = ["TESTIN=$1shift", "PROGOUT=$1shift", "exec$@<$TESTIN>$PROGOUT"];
    file.name == "run" && (lines == named || lines == ["exec$@<$1>$2"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str, executable: bool) -> File {
        File { name: name.into(), content: content.into(), executable }
    }

    #[test]
    fn lists_of_files_are_read() {
        let list = br#"[{"filename": "a", "content": "\/\/8=", "is_executable": true}, {"filename": "b", "content": ""}]"#;
        let files = read(list).unwrap();
        assert_eq!(files[0], File { name: "a".into(), content: vec![255, 255], executable: true });
        assert_eq!(files[1], file("b", "", false));
        assert!(read(br#"[{"filename": "a", "content": "?"}]"#).is_err());
        assert!(read(b"{}").is_err());
    }

    #[test]
    fn hashes() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        let files = [file("run", "x", true), file("a", "y", false)];
        let expected = md5_hex(format!("{}a{}run1", md5_hex(b"y"), md5_hex(b"x")).as_bytes());
        assert_eq!(executable_hash(&files), expected);
        let pair = || vec![file("input", "1", false), file("output", "2", false)];
        let hash = format!("{}_{}", md5_hex(b"1"), md5_hex(b"2"));
        assert_eq!(testcase(pair(), &hash).unwrap().answer, b"2");
        assert!(testcase(pair(), "x_y").unwrap_err().contains(&hash));
        assert!(testcase(vec![file("input", "1", false)], &hash).is_err());
    }

    #[test]
    fn ways_to_build() {
        let way = |files: &[File]| {
            let files = buildable(files.to_vec())?;
            Ok::<_, String>(files.last().map(|f| String::from_utf8_lossy(&f.content).into_owned()).unwrap())
        };
        assert_eq!(way(&[file("build", "own", true)]), Ok("own".into()));
        assert!(way(&[file("build", "own", false)]).is_err());
        assert!(buildable(vec![file("run", "r", false)]).unwrap()[0].executable);
        let both = vec![file("run", "r", false), file("build", "b", true)];
        assert!(buildable(both).unwrap().iter().all(|file| file.executable));
        assert!(way(&[file("x.h", "", false), file("x.cc", "", false)]).unwrap().contains("'x.cc' -o run"));
        assert!(way(&[file("V.java", "", false)]).unwrap().contains(" V \"$@\""));
        assert!(way(&[file("a.py", "", false), file("b.c", "", false)]).unwrap().contains("gcc"));
        assert!(way(&[file("x'y.c", "", false)]).is_err());
        assert!(way(&[file("x.txt", "", false)]).is_err());
    }

    #[test]
    fn the_usual_run_script_is_known() {
        let usual = "#!/bin/sh\n# words\nTESTIN=\"$1\";  shift\nPROGOUT=\"$1\"; shift\n\nexec \"$@\" < \"$TESTIN\" > \"$PROGOUT\"\n";
        assert!(only_redirects(&[file("run", usual, true)]));
        assert!(only_redirects(&[file("run", "exec \"$@\" < $1 > $2", true)]));
        assert!(!only_redirects(&[file("run", &usual.replace("exec", "exec nice"), true)]));
        assert!(!only_redirects(&[file("run", usual, true), file("more", "", false)]));
    }
}
