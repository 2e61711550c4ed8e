//! What `tauto verify` found, as people's own CI reads it: JUnit XML and SARIF.
//!
//! Sources: the schema that Jenkins' plugin publishes (junit-10.xsd); SARIF 2.1.0 (OASIS).

use crate::html::escape;
use crate::json::{PackageDocument, SubmissionDocument, VerifyDocument};
use serde_json::{Value, json};

/// A suite for each package, a case for each jury submission, with the CPU time of its slowest test in seconds. A package that is
/// wrong as a whole is a case of its own.
pub fn junit(document: &VerifyDocument) -> String {
    let suites: String = document.packages.iter().map(suite).collect();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

fn suite(package: &PackageDocument) -> String {
    let whole = package.fault.as_ref().map(|fault| case(&package.package, "package", None, &failure(fault)));
    let cases: String = package.submissions.iter().map(|one| submission(&package.package, one)).collect();
    let failures = package.submissions.iter().filter(|one| one.ok == Some(false)).count();
    let skipped = package.submissions.iter().filter(|one| one.skipped.is_some()).count();
    let wholes = usize::from(whole.is_some());
    format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{skipped}\">\n{}{cases}  </testsuite>\n",
        text(&package.package),
        package.submissions.len() + wholes,
        failures + wholes,
        whole.unwrap_or_default(),
    )
}

fn submission(package: &str, one: &SubmissionDocument) -> String {
    let inner = match (&one.skipped, one.ok) {
        (Some(why), _) => format!("<skipped message=\"{}\"/>", text(why)),
        (None, Some(false)) => failure(&one.broken.join("; ")),
        _ => String::new(),
    };
    let seconds = one.slowest_ns.as_ref().and_then(|time| time.known()).map(|time| time.0 as f64 / 1e9);
    case(package, &one.path, seconds, &inner)
}

fn case(package: &str, name: &str, seconds: Option<f64>, inner: &str) -> String {
    let time = seconds.map(|seconds| format!(" time=\"{seconds:.6}\"")).unwrap_or_default();
    format!(
        "    <testcase classname=\"{}\" name=\"{}\"{time}>{inner}</testcase>\n",
        text(package),
        text(name)
    )
}

fn failure(why: &str) -> String {
    format!("<failure message=\"{}\"/>", text(why))
}

/// XML 1.0 has no place for control characters, however they are written.
fn text(raw: &str) -> String {
    let kept: String = raw.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n')).collect();
    escape(&kept)
}

/// A result for each promise that was not kept, each fault of a package and each warning; `paths` are the packages' paths, in the
/// document's order, as they were given.
pub fn sarif(document: &VerifyDocument, paths: &[String], version: &str) -> Value {
    let results: Vec<Value> = document
        .packages
        .iter()
        .zip(paths)
        .flat_map(|(package, path)| {
            let fault =
                package.fault.iter().map(move |fault| result("package", "error", fault, path.clone()));
            let warnings = package
                .warnings
                .iter()
                .map(move |warning| result("warning", "warning", warning, path.clone()));
            let broken = package.submissions.iter().filter(|one| one.ok == Some(false)).map(move |one| {
                result("promise", "error", &one.broken.join("; "), format!("{path}/{}", one.path))
            });
            fault.chain(warnings).chain(broken)
        })
        .collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tauto verify",
                "version": version,
                "rules": [
                    {"id": "promise", "shortDescription": {"text": "A jury submission did not get the verdict that its directory or submissions.yaml expects"}},
                    {"id": "package", "shortDescription": {"text": "The package has an error"}},
                    {"id": "warning", "shortDescription": {"text": "The package has a warning"}},
                ],
            }},
            "results": results,
        }],
    })
}

fn result(rule: &str, level: &str, message: &str, path: String) -> Value {
    json!({
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(&path)}}}],
    })
}

/// A relative reference (RFC 3986): what is no character of a path is written as bytes.
fn uri(path: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=@".contains(&byte);
    let path = path.strip_prefix("./").unwrap_or(path);
    path.bytes()
        .map(|byte| if kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn document() -> VerifyDocument {
        VerifyDocument::new(&samples::verifications())
    }

    #[test]
    fn a_case_for_each_submission() {
        let (document, xml) = (document(), junit(&document()));
        let cases: usize =
            document.packages.iter().map(|p| p.submissions.len() + usize::from(p.fault.is_some())).sum();
        assert!(cases > 1 && document.mismatches > 0, "{document:?}");
        assert_eq!(xml.matches("<testcase ").count(), cases, "{xml}");
        let wrong = document.mismatches + document.packages.iter().filter(|p| p.fault.is_some()).count();
        assert_eq!(xml.matches("<failure ").count(), wrong, "{xml}");
        assert_eq!(xml.matches("<skipped ").count(), document.skipped, "{xml}");
    }

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(text("a\"<b>\u{1}\u{7f}&\n"), "a&quot;&lt;b&gt;&amp;\n");
        assert_eq!(uri("./a b/ü%.py"), "a%20b/%C3%BC%25.py");
    }

    #[test]
    fn a_result_for_each_thing_that_is_wrong() {
        let document = document();
        let paths: Vec<String> =
            document.packages.iter().map(|p| format!("./problems/{}", p.package)).collect();
        let report = sarif(&document, &paths, "0.1.0");
        let results = report["runs"][0]["results"].as_array().unwrap();
        let count = |rule: &str| results.iter().filter(|one| one["ruleId"] == rule).count();
        assert_eq!(count("promise"), document.mismatches);
        assert_eq!(count("warning"), document.packages.iter().map(|p| p.warnings.len()).sum::<usize>());
        let place = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(place.as_str().unwrap().starts_with("problems/"), "{place}");
    }
}
