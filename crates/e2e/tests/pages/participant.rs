//! The pages of a participant, from the link that sets their password.

use super::{PASSWORD, RIGHT, Visit, WRONG};
use serde_json::{Value, json};

/// A participant sets a password, signs in, submits, sees what is theirs, and is refused what is not. `token` is an admin's.
pub(super) fn look_at(visit: &mut Visit, token: &str) {
    let user = json!({"name": "bo", "role": "participant"});
    let added = visit.admin(token).post("/api/v1/users", &[], &user).expect("a user");
    assert!(added.status < 300, "{}", added.text());
    let added: Value = serde_json::from_str(&added.text()).expect("a document");
    let link = added["link"].as_str().expect("a link to set a password");
    visit.end_sessions();
    visit.open(&link[link.find("/set-password/").expect("its path")..]);
    visit.look("set-password");
    visit.type_into("#password", PASSWORD);
    visit.type_into("#again", "another horse battery");
    visit.click("main form button");
    visit.wait_for("document.querySelector('.notice.bad')");
    visit.heard("two passwords", |text| text.contains("422"));
    visit.look("set-password-refused");
    visit.type_into("#password", PASSWORD);
    visit.type_into("#again", PASSWORD);
    visit.click("main form button");
    visit.wait_for("document.querySelector('#sign-in')");
    visit.look("set-password-done");
    visit.type_into("#name", "bo");
    visit.type_into("#password", PASSWORD);
    visit.click("#sign-in button");
    visit.wait_for("document.querySelector('.who .me')?.textContent.includes('bo')");
    visit.hand_in("snowwall", "python3", RIGHT, "Accepted");
    visit.look("participant-right");
    visit.hand_in("snowwall", "python3", WRONG, "Wrong answer");
    visit.look("participant-wrong");
    for (path, name) in [
        ("/", "problems"),
        ("/problems/snowwall", "problem"),
        ("/status", "status"),
        ("/hosts", "hosts"),
        ("/account", "account"),
        ("/docs", "documents"),
    ] {
        visit.open(path);
        visit.look(&format!("participant-{name}"));
    }
    for path in ["/users", "/rejudge", "/problems/new"] {
        visit.open(path);
        let status = visit.script("return document.querySelector('main .status').textContent");
        assert_eq!(status, "403", "{path}");
        visit.heard(path, |text| text.contains("403"));
    }
    visit.look("participant-forbidden");
}
