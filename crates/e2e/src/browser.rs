//! A browser: Chromium, driven by chromedriver as WebDriver says (<https://www.w3.org/TR/webdriver2/>), which is JSON over HTTP.

use crate::http::Client;
use serde_json::{Value, json};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For chromedriver to answer.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// For something to come about on a page.
const COMES_WITHIN: Duration = Duration::from_secs(60);

/// Chromium as root has no sandbox of its own; and nothing is asked of anybody but the pages under test. `judge.test` is this machine by a name that
/// browsers trust no more than any other: over plain http they say less of where a request comes from.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP judge.test 127.0.0.1",
];

/// An element, as WebDriver names it.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with a fresh profile. Ended when it is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    client: Client,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    /// There is no chromedriver or no Chromium, or they do not work together.
    pub fn start() -> Result<Browser, String> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| format!("a free port: {error}"))?.port();
        let mut command = crate::child::command("chromedriver");
        command
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let driver =
            command.spawn().map_err(|error| format!("chromedriver: {error}; scripts/setup installs it"))?;
        let profile = TempDir::new().map_err(|error| format!("a profile: {error}"))?;
        let client = Client::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let mut browser = Browser { driver, client, session: String::new(), _profile: profile };
        browser.begin()?;
        Ok(browser)
    }

    fn begin(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while self.client.get("/status").is_err() {
            if start.elapsed() > READY_WITHIN {
                return Err("chromedriver does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let profile = format!("--user-data-dir={}", self._profile.path().display());
        let flags: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).collect();
        let wanted = json!({"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": flags}});
        let answer = self.client.post("/session", &[], &json!({"capabilities": {"alwaysMatch": wanted}}));
        let value = value(answer)?;
        self.session = value["sessionId"].as_str().ok_or("chromedriver began no session")?.to_string();
        Ok(())
    }

    fn ask(&mut self, path: &str, document: &Value) -> Result<Value, String> {
        let path = format!("/session/{}{path}", self.session);
        value(self.client.post(&path, &[], document)).map_err(|error| format!("{path}: {error}"))
    }

    /// Opens a page and waits until it is loaded.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub fn open(&mut self, address: &str) -> Result<(), String> {
        self.ask("/url", &json!({ "url": address })).map(drop)
    }

    /// The value of a script's `return`.
    ///
    /// # Errors
    /// It throws.
    pub fn script(&mut self, text: &str) -> Result<Value, String> {
        self.ask("/execute/sync", &json!({"script": text, "args": []}))
    }

    /// What a script hands to the function that is its last argument, with one argument before it.
    ///
    /// # Errors
    /// It throws, or never calls.
    pub fn script_waiting(&mut self, text: &str, argument: &str) -> Result<Value, String> {
        self.ask("/execute/async", &json!({"script": text, "args": [argument]}))
    }

    /// Waits until a script's value is true.
    ///
    /// # Errors
    /// It never is; the text of the page is told.
    pub fn wait_for(&mut self, condition: &str) -> Result<(), String> {
        let start = Instant::now();
        loop {
            // While a page is exchanged for another there is none.
            if self.script(&format!("return Boolean({condition})")) == Ok(Value::Bool(true)) {
                return Ok(());
            }
            if start.elapsed() > COMES_WITHIN {
                let text = self.script("return location.href + '\\n' + document.body.innerText")?;
                return Err(format!("never came: {condition}; the page: {text}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn element(&mut self, css: &str) -> Result<String, String> {
        let found = self.ask("/element", &json!({"using": "css selector", "value": css}))?;
        found[ELEMENT].as_str().map(str::to_string).ok_or_else(|| format!("no element {css}"))
    }

    /// Clicks an element, which must be there and visible.
    ///
    /// # Errors
    /// It is not.
    pub fn click(&mut self, css: &str) -> Result<(), String> {
        let element = self.element(css)?;
        self.ask(&format!("/element/{element}/click"), &json!({})).map(drop)
    }

    /// Types into an element, or chooses a file by its path.
    ///
    /// # Errors
    /// It cannot be typed into.
    pub fn type_into(&mut self, css: &str, text: &str) -> Result<(), String> {
        let element = self.element(css)?;
        self.ask(&format!("/element/{element}/value"), &json!({ "text": text })).map(drop)
    }

    /// Lets pages run scripts, or not; of those that are opened from then on.
    ///
    /// # Errors
    /// Those of the browser.
    pub fn scripts(&mut self, run: bool) -> Result<(), String> {
        let command = json!({"cmd": "Emulation.setScriptExecutionDisabled", "params": {"value": !run}});
        self.ask("/goog/cdp/execute", &command).map(drop)
    }

    /// Makes the window so wide and high.
    ///
    /// # Errors
    /// Those of the browser.
    pub fn resize(&mut self, width: u64, height: u64) -> Result<(), String> {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        let command = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics});
        self.ask("/goog/cdp/execute", &command).map(drop)
    }

    /// Makes the browser wish for `light` or `dark`.
    ///
    /// # Errors
    /// Those of the browser.
    pub fn prefer(&mut self, scheme: &str) -> Result<(), String> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("/goog/cdp/execute", &json!({"cmd": "Emulation.setEmulatedMedia", "params": features}))
            .map(drop)
    }

    /// Writes a picture of the whole page at this width.
    ///
    /// # Errors
    /// Those of the browser and of the file.
    pub fn picture(&mut self, width: u64, to: &Path) -> Result<(), String> {
        self.resize(width, 900)?;
        let height = self.script("return document.documentElement.scrollHeight")?.as_u64().unwrap_or(900);
        self.resize(width, height.clamp(600, 4000))?;
        let answer = self.ask(
            "/goog/cdp/execute",
            &json!({"cmd": "Page.captureScreenshot", "params": {"format": "png"}}),
        )?;
        let bytes = decoded(answer["data"].as_str().unwrap_or_default());
        fs::write(to, bytes).map_err(|error| format!("{}: {error}", to.display()))
    }

    /// What the console said since it was asked the last time: errors and warnings, of the security policy too.
    ///
    /// # Errors
    /// Those of the browser.
    pub fn console(&mut self) -> Result<Vec<String>, String> {
        let entries = self.ask("/se/log", &json!({"type": "browser"}))?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let told = entries.iter().filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        Ok(told.map(|entry| entry["message"].as_str().unwrap_or_default().to_string()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium too. What cannot be ended so ends with its driver.
        let _ = self.client.delete(&format!("/session/{}", self.session));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The value of an answer, or its error.
fn value(answer: std::io::Result<crate::http::Response>) -> Result<Value, String> {
    let answer = answer.map_err(|error| format!("chromedriver: {error}"))?;
    let value = answer.json()["value"].take();
    match answer.status {
        200 => Ok(value),
        _ => Err(format!(
            "{}: {}",
            value["error"].as_str().unwrap_or("?"),
            value["message"].as_str().unwrap_or("?")
        )),
    }
}

/// Base64 (RFC 4648, section 4), of which pictures come.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets: Vec<u32> = text
        .bytes()
        .filter_map(|byte| LETTERS.iter().position(|letter| *letter == byte))
        .filter_map(|at| u32::try_from(at).ok())
        .collect();
    let group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, sextet| bits << 6 | sextet) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    sextets.chunks(4).filter(|some| some.len() > 1).flat_map(group).collect()
}

/// axe-core, which finds faults of accessibility: fetched once by npm, into `directory`.
///
/// # Errors
/// There is no npm, or it cannot fetch.
pub fn axe(directory: &Path) -> Result<String, String> {
    let script = crate::npm::package(directory, "axe-core", "4")?.join("axe.min.js");
    fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decoded(text), bytes.as_bytes(), "{text}");
        }
        assert_eq!(decoded("+/8="), [0xfb, 0xff]);
    }
}
