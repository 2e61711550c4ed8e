//! Virtual machines that fail: root of the guest is hostile, or QEMU is killed or stopped. `tauto` runs in a mount namespace in which a wrapper replaces
//! QEMU. The wrapper injects the fault and becomes QEMU.

use crate::leftovers::{self, Snapshot};
use crate::package::{self, DOUBLE};
use crate::service::{Service, submission};
use crate::{machine, tauto, traffic};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const QEMU: &str = "/usr/bin/qemu-system-x86_64";
const WRAPPER: &str = include_str!("../machine/qemu.py");
const OWNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/machine/owner.c");
/// Gives the real QEMU another path and mounts the wrapper over it.
const SCRIPT: &str = "mount --bind \"$1\" \"$2\" && mount --bind \"$3\" \"$1\" && shift 3 && exec \"$@\"";
/// Time per queued submission: machines boot, and one may fall silent while it boots.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);
/// For what was ended to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// What may become of a machine, and how often of a thousand: `nothing`, `killed` and `stopped` from outside; the others by root of the guest: `panic`,
/// `restart`, `off`, `hang` (the agent stops), `lie` (any of eight kinds of bytes into the stream), `poke` (random writes to ports and memory of devices).
pub type Blows = BTreeMap<&'static str, u32>;

/// Machines of which some are lost.
#[derive(Debug)]
pub struct Lost {
    directory: PathBuf,
}

impl Lost {
    /// Prepares them in this directory, which any user may enter; blows fall between these two moments, in ms from the guest's start. A guest reaches for
    /// the host's port `port`, and tells what it reached where `report` is named.
    ///
    /// # Errors
    /// A file cannot be written, or the guest's program cannot be compiled.
    pub fn new(
        directory: &Path,
        blows: &Blows,
        after: [u32; 2],
        port: u16,
        report: Option<&Path>,
    ) -> Result<Lost, String> {
        let lost = Lost { directory: directory.to_path_buf() };
        let owner = directory.join("owner");
        let compiled = Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&owner).arg(OWNER).status();
        if !compiled.map_err(|e| format!("gcc: {e}"))?.success() {
            return Err("gcc: the guest's program does not compile".into());
        }
        let settings = json!({
            "blows": blows, "after": after, "port": port, "log": lost.log(), "owner": owner, "qemu": lost.file("qemu"), "report": report,
        });
        let texts = [
            ("log", String::new(), 0o666),
            ("qemu", String::new(), 0o755),
            ("wrapper", WRAPPER.replace("@SETTINGS@", &settings.to_string()), 0o755),
        ];
        for (name, text, mode) in texts {
            let (path, fail) = (lost.file(name), |e| format!("{name}: {e}"));
            fs::write(&path, text).map_err(fail)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(fail)?;
        }
        Ok(lost)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// The command that runs another one among such machines.
    pub fn by(&self) -> Vec<String> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", QEMU];
        let mut words: Vec<String> = words.map(str::to_string).into();
        words.extend([text(self.file("qemu")), text(self.file("wrapper"))]);
        words
    }

    /// What was drawn for each machine so far.
    pub fn drawn(&self) -> BTreeMap<String, usize> {
        let mut drawn = BTreeMap::new();
        for line in fs::read_to_string(self.log()).unwrap_or_default().lines() {
            let what = line.split(' ').nth(1).unwrap_or_default().to_string();
            *drawn.entry(what).or_default() += 1;
        }
        drawn
    }
}

/// What came of submissions to a service whose machines are lost.
#[derive(Debug, Default)]
pub struct Report {
    /// Machines, by what was drawn for them.
    pub drawn: BTreeMap<String, usize>,
    /// Submissions, by their verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Reasons of judge errors, without what a console said.
    pub reasons: BTreeMap<String, usize>,
    /// What is wrong: nothing should be.
    pub wrong: Vec<String>,
}

const PROGRAMS: [(&str, &str, &str, &str); 5] = [
    ("python3", "right.py", "print(2 * int(input()))\n", "AC"),
    ("python3", "wrong.py", "print(3 * int(input()))\n", "WA"),
    ("python3", "raises.py", "raise ValueError\n", "RTE"),
    ("python3", "no.py", "print(\n", "CE"),
    ("c", "right.c", package::RIGHT, "AC"),
];
/// Of ten: C takes long where it is emulated.
const SHARES: [usize; 10] = [0, 1, 0, 2, 0, 1, 3, 0, 2, 4];

/// Submits programs to a service with such machines. Each must be judged once, with its verdict, or with a judge error if its machines were lost.
///
/// # Errors
/// The service cannot be started or asked.
pub fn storm(directory: &Path, submissions: usize, blows: &Blows, after: [u32; 2]) -> Result<Report, String> {
    leftovers::adopt_orphans()?;
    let before = Snapshot::take();
    let lost = Lost::new(directory, blows, after, 1, None)?;
    let data = directory.join("data");
    fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    let by = lost.by();
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    let options = ["--isolation", "vm", "--vm-accelerator", "tcg"];
    let (kernel, settings) = (machine::kernel()?, data.join("config.toml"));
    let text = format!("[vm]\nkernel = {:?}\n", kernel.display().to_string());
    fs::write(&settings, text).map_err(|e| e.to_string())?;
    let service = Service::start_by(&by, &data, ([127, 0, 0, 1], 0).into(), &options)?;
    let (mut client, mut report) = (service.client(), Report::default());
    let token = service.admin_token()?;
    let bearer = format!("Bearer {token}");
    let mut admin = service.client().with("authorization", &bearer);
    // Emulation is slow and uneven.
    let slow = DOUBLE.map(|(name, text)| (name, text.replace("time_limit: 0.5", "time_limit: 30")));
    let files: Vec<(&str, &str)> = slow.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let package = package::zipped(&files)?;
    let zip = [("content-type", "application/zip")];
    let added =
        admin.ask("POST", "/api/v1/problems?name=double", &zip, &package).map_err(|e| e.to_string())?;
    if added.status != 201 {
        return Err(format!("POST /api/v1/problems: {}", added.text()));
    }
    let mut accepted = Vec::new();
    for n in 0..submissions {
        let (language, file, source, verdict) = PROGRAMS[SHARES[n % SHARES.len()]];
        let document = submission("double", language, file, source, false);
        let (id, token) = traffic::post(&mut client, &document)?;
        accepted.push((id, token, verdict));
    }
    // A submission whose machine was lost moves to the end of the queue.
    let patience = JUDGED_WITHIN * (u32::try_from(submissions).unwrap_or(u32::MAX) + 1);
    for (n, (id, token, verdict)) in accepted.into_iter().enumerate() {
        if n % 10 == 9 {
            let _ = writeln!(
                io::stderr(),
                "{n} of {submissions} judged: {:?}, machines {:?}",
                report.verdicts,
                lost.drawn()
            );
        }
        let state = match traffic::wait_judged(&mut client, &token, patience) {
            Ok(state) => state,
            Err(lost) => {
                report.wrong.push(lost);
                continue;
            }
        };
        let got = traffic::verdict(&state).unwrap_or_default().to_string();
        *report.verdicts.entry(got.clone()).or_default() += 1;
        let path = format!("/api/v1/submissions/{token}/judgements");
        // A connection that idles for long is closed by the service.
        let mut admin = service.client().with("authorization", &bearer);
        let history = admin.get(&path).map_err(|e| format!("GET {path}: {e}"))?.json();
        let all = history["judgements"].as_array().map_or(0, Vec::len);
        let reason = reason(
            &admin.get(&format!("/api/v1/submissions/{token}/judgement")).map_err(|e| e.to_string())?.json(),
        );
        if got == "JE" {
            *report.reasons.entry(reason.clone()).or_default() += 1;
        }
        if (got != verdict && got != "JE") || all != 1 || history["waiting"] != 0 {
            report.wrong.push(format!("submission {id}: {verdict} was to come: {history}; {reason}"));
        }
    }
    service.stop()?;
    report.drawn = lost.drawn();
    let blows: usize = report.drawn.iter().filter(|(what, _)| *what != "nothing").map(|(_, n)| n).sum();
    let faults = report.verdicts.get("JE").copied().unwrap_or_default();
    if faults > blows {
        report.wrong.push(format!("{faults} judge errors by {blows} blows"));
    }
    before.wait_until_no_processes(GONE_WITHIN)?;
    report.wrong.extend(before.wait_until_clean(GONE_WITHIN, Vec::new).err());
    let mut check = crate::child::command(tauto::binary()?);
    let checked =
        tauto::run(check.args(["database", "check"]).env("TAUTO_DATA_DIR", &data), false, JUDGED_WITHIN)?;
    if checked.code()? != 0 {
        report.wrong.push(format!("tauto database check: {}{}", checked.stdout, checked.stderr));
    }
    Ok(report)
}

/// Why a judgement is an error, without the part that differs each time.
fn reason(judgement: &Value) -> String {
    fn find(value: &Value) -> Option<String> {
        match value {
            Value::Object(fields) => fields.iter().find_map(|(name, value)| match value {
                Value::String(text) if name == "message" || name == "error" || name == "why" => {
                    Some(text.clone())
                }
                _ => find(value),
            }),
            Value::Array(values) => values.iter().find_map(find),
            _ => None,
        }
    }
    let whole = find(judgement).unwrap_or_default();
    whole.split("; last on its console").next().unwrap_or_default().to_string()
}
