//! Every way by which a program reaches a service: the pages' form, the native API, Judge0's and Piston's interfaces; with whatever files
//! and bodies somebody may send.

use crate::chaos::Dice;
use crate::http::{Client, Response};
use crate::service::Service;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{Cursor, Error, Result, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The problem that is submitted to: shipped with the service.
const PROBLEM: &str = "snowwall";
/// Between parts of a form.
const BOUNDARY: &str = "e2e-boundary";

/// Where a program goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// The form of a problem's page.
    Page,
    /// `/api/v1/submissions`.
    Native,
    /// Judge0's interface, with an archive of additional files.
    Judge0,
    /// Piston's interface.
    Piston,
}

impl Face {
    /// All of them.
    pub const ALL: [Face; 4] = [Face::Page, Face::Native, Face::Judge0, Face::Piston];

    fn path(self) -> &'static str {
        match self {
            Face::Page => "/problems/snowwall/submit",
            Face::Native => "/api/v1/submissions",
            Face::Judge0 => "/judge0/submissions",
            Face::Piston => "/api/v2/execute",
        }
    }
}

/// A client of all faces of a service without accounts.
pub struct Faces {
    client: Client,
    cookies: String,
    csrf: String,
}

impl Faces {
    /// Opens the page with the form, whose secret comes with every form.
    ///
    /// # Errors
    /// There is no such page, or no secret on it.
    pub fn open(service: &Service) -> Result<Faces> {
        let mut client = service.client();
        let page = client.ask("GET", &format!("/problems/{PROBLEM}"), &[("accept", "text/html")], b"")?;
        let text = page.text();
        let csrf = text.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let csrf = csrf.ok_or_else(|| Error::other(format!("no form: {} {text}", page.status)))?.to_string();
        Ok(Faces { client, cookies: crate::service::cookies(&page), csrf })
    }

    /// Submits a Python program of these files; Judge0's archive holds all but the first, which is its source.
    ///
    /// # Errors
    /// No answer.
    pub fn submit(&mut self, face: Face, files: &[(&str, &[u8])]) -> Result<Response> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let listed: Vec<Value> = files.iter().map(|(n, c)| json!({"name": n, "content": text(c)})).collect();
        match face {
            Face::Page => self.send(face, &form_type(), &self.form("python3", files)),
            Face::Native => {
                self.json(face, &json!({"problem": PROBLEM, "language": "python3", "files": listed}))
            }
            Face::Judge0 => {
                let source = files.first().map(|(_, content)| text(content)).unwrap_or_default();
                let added = STANDARD.encode(archive(files.get(1..).unwrap_or_default()));
                self.json(face, &json!({"language_id": 71, "source_code": source, "additional_files": added}))
            }
            Face::Piston => self.json(face, &json!({"language": "python", "version": "*", "files": listed})),
        }
    }

    fn json(&mut self, face: Face, document: &Value) -> Result<Response> {
        self.send(face, "application/json", document.to_string().as_bytes())
    }

    /// Sends any body.
    ///
    /// # Errors
    /// No answer.
    pub fn send(&mut self, face: Face, kind: &str, body: &[u8]) -> Result<Response> {
        let headers =
            [("content-type", kind), ("sec-fetch-site", "same-origin"), ("cookie", self.cookies.as_str())];
        self.client.ask("POST", face.path(), &headers, body)
    }

    fn form(&self, language: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, value) in [("csrf", self.csrf.as_str()), ("language", language), ("source", "")] {
            let part =
                format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend(part.as_bytes());
        }
        for (name, content) in files {
            let head = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n"
            );
            body.extend([head.as_bytes(), content, b"\r\n"].concat());
        }
        body.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
        body
    }

    /// Sends a body that the dice make up: of the right form with any names, contents, numbers and options, of which some bytes may be changed, or
    /// no form at all.
    ///
    /// # Errors
    /// No answer.
    pub fn send_any(&mut self, dice: &mut Dice) -> Result<(Face, Vec<u8>, Response)> {
        let face = dice.one(&Face::ALL);
        let files: Vec<(String, Vec<u8>)> =
            (0..1 + dice.below(4)).map(|_| (name(dice), content(dice))).collect();
        let named: Vec<(&str, &[u8])> = files.iter().map(|(n, c)| (n.as_str(), c.as_slice())).collect();
        let listed = || -> Vec<Value> {
            let file = |(n, c): &(String, Vec<u8>)| json!({"name": n, "content": String::from_utf8_lossy(c)});
            files.iter().map(file).collect()
        };
        let (mut kind, mut body) = match face {
            Face::Page => {
                let language = dice.one(&["python3", "c", "java", "", "klingon"]);
                (form_type(), self.form(language, &named))
            }
            Face::Native => {
                let mut all = json!({"problem": PROBLEM, "files": listed()});
                strange(&mut all, dice, &["language", "contest", "mode", "clock", "problem"]);
                ("application/json".to_string(), all.to_string().into_bytes())
            }
            Face::Judge0 => {
                let mut packed = archive(&named);
                if dice.below(3) == 0 {
                    damage(&mut packed, dice);
                }
                let id = dice.one(&[71, 50, 89, 43, 44, 46, 62, 0]);
                let mut all = json!({"language_id": id, "source_code": "print(1)\n", "additional_files": STANDARD.encode(&packed)});
                if id == 89 {
                    all["source_code"] = Value::Null;
                }
                let fields =
                    ["stdin", "compiler_options", "command_line_arguments", "memory_limit", "stack_limit"];
                strange(&mut all, dice, &fields);
                ("application/json".to_string(), all.to_string().into_bytes())
            }
            Face::Piston => {
                let language = dice.one(&["python", "c", "bash", "java"]);
                let mut all = json!({"language": language, "version": "*", "files": listed()});
                strange(&mut all, dice, &["args", "stdin", "run_memory_limit", "compile_timeout", "version"]);
                ("application/json".to_string(), all.to_string().into_bytes())
            }
        };
        match dice.below(8) {
            0 => damage(&mut body, dice),
            1 => body.truncate(usize::try_from(dice.below(body.len() as u64 + 1)).unwrap_or_default()),
            2 => kind = dice.one(&["application/zip", "text/plain", "application/json", ""]).to_string(),
            _ => {}
        }
        let answer = self.send(face, &kind, &body)?;
        Ok((face, body, answer))
    }
}

fn form_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// A field that is not as it should be.
fn strange(all: &mut Value, dice: &mut Dice, fields: &[&str]) {
    let value = match dice.below(8) {
        0 => json!(name(dice)),
        1 => json!(-1),
        2 => json!(1e300),
        3 => json!([["x".repeat(70_000)], {}, null, "\u{0}"]),
        4 => json!(vec![name(dice); 20]),
        5 => json!({"a": {"b": name(dice)}}),
        _ => return,
    };
    all[dice.one(fields)] = value;
}

/// A name of a file that somebody may think of.
fn name(dice: &mut Dice) -> String {
    const PARTS: [&str; 16] = [
        "a.py",
        "main.c",
        "Main.java",
        "run",
        "..",
        ".",
        "",
        "tmp",
        "\u{0}",
        "a\\b",
        "\u{202e}py.a",
        "ä",
        " ",
        "*",
        "\n",
        "-o",
    ];
    if dice.below(2) == 0 {
        return format!("f{}.{}", dice.below(1000), dice.one(&["py", "c", "java", "txt"]));
    }
    let long = "x".repeat(usize::try_from(dice.below(300)).unwrap_or_default());
    let most = if dice.below(10) == 0 { 140 } else { 4 };
    let parts = 1 + dice.below(most);
    let part = |dice: &mut Dice| if dice.below(6) == 0 { long.clone() } else { dice.one(&PARTS).to_string() };
    let all: Vec<String> = (0..parts).map(|_| part(dice)).collect();
    // Half of them end as programs do.
    all.join("/") + dice.one(&["", ".py", ".c", ".java"])
}

fn content(dice: &mut Dice) -> Vec<u8> {
    match dice.below(6) {
        0 => Vec::new(),
        1 => (0..dice.below(200)).map(|_| u8::try_from(dice.below(256)).unwrap_or_default()).collect(),
        2 => format!(
            "public class {} {{ }}\n",
            "X".repeat(usize::try_from(dice.below(400)).unwrap_or_default())
        )
        .into(),
        3 => b"int main(void) { return 0; }\n".to_vec(),
        _ => b"print(1)\n".to_vec(),
    }
}

fn damage(bytes: &mut [u8], dice: &mut Dice) {
    for _ in 0..1 + dice.below(8) {
        let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap_or_default();
        if let Some(byte) = bytes.get_mut(at) {
            *byte = u8::try_from(dice.below(256)).unwrap_or_default();
        }
    }
}

/// A zip archive of these files, whatever they are called.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        // Two of one name are not written.
        if zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).is_ok() {
            let _ = zip.write_all(content);
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}
