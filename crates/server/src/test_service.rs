//! What tests of the service share: a service on a database of its own, and requests to it without a network.

use crate::accounts::Access;
use crate::service::{Service, Settings, Startup, open, router};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt;
use model::{HostLanguage, HostLanguages, HostTool, NodeFacts, Reading};
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{NewToken, NewUser, Role, UserId};
use tower::ServiceExt;

/// The password of every user of a kit.
pub(crate) const PASSWORD: &str = "correct horse";

/// A service and its routes.
pub(crate) struct TestService {
    pub(crate) service: Arc<Service>,
    routes: Router,
    _directory: tempfile::TempDir,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    /// The value of the cookie that it sets, without attributes; empty where it removes it.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let lines = self.headers.get_all(header::SET_COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.filter_map(|line| line.split(';').next()?.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    /// What the forms of the page carry.
    pub(crate) fn csrf(&self) -> String {
        let rest =
            self.text.split("name=\"csrf\" value=\"").nth(1).unwrap_or_else(|| panic!("{}", self.text));
        rest.split('"').next().unwrap_or_default().to_string()
    }
}

/// A language that a node has, by a tool that says this of itself.
pub(crate) fn language(id: &str, says: &str) -> HostLanguage {
    let tool = HostTool { name: "x".into(), path: "/usr/bin/x".into(), version: Reading::Known(says.into()) };
    HostLanguage {
        id: id.into(),
        name: id.into(),
        extensions: vec![],
        available: true,
        missing: None,
        tools: vec![tool],
        compile: None,
        run: vec!["x".into()],
    }
}

/// What a node tells that has these languages.
pub(crate) fn facts(languages: impl Into<Vec<HostLanguage>>) -> NodeFacts {
    let languages = Reading::Known(HostLanguages { languages: languages.into() });
    NodeFacts { languages, ..NodeFacts::unknown("not reported") }
}

/// Settings for a service in a directory.
pub(crate) fn settings(directory: &Path, anonymous: bool) -> Settings {
    Settings {
        retention: None,
        directory: directory.into(),
        database: directory.join("a.db").display().to_string(),
        nats: None,
        anonymous,
        access: Access::default(),
        grace: Duration::from_secs(1),
        attempts: crate::ATTEMPTS,
        second_opinion: model::SecondOpinions::Never,
        callbacks: crate::callbacks::Allowed::default(),
    }
}

impl TestService {
    pub(crate) async fn new(anonymous: bool) -> TestService {
        TestService::with(anonymous, |_| {}).await
    }

    pub(crate) async fn with(anonymous: bool, change: impl FnOnce(&mut Settings)) -> TestService {
        let directory = tempfile::tempdir().unwrap();
        TestService::over(directory, anonymous, change).await
    }

    /// A service on a directory that may have a database already.
    pub(crate) async fn over(
        directory: tempfile::TempDir,
        anonymous: bool,
        change: impl FnOnce(&mut Settings),
    ) -> TestService {
        let mut settings = settings(directory.path(), anonymous);
        change(&mut settings);
        let Startup { service } = open(settings).await.unwrap();
        infer_limits(&service).await;
        TestService { routes: router(service.clone()), service, _directory: directory }
    }

    /// All routes, as `METHOD /route`: read from what the router tells of itself, so that none can be forgotten.
    pub(crate) fn routes(&self) -> Vec<String> {
        let text = format!("{:?}", self.routes);
        // What is said of fallbacks looks alike.
        let text = text.split("fallback_router:").next().unwrap_or_default();
        let mut methods = std::collections::HashMap::new();
        let mut routes = Vec::new();
        for part in text.split("RouteId(").skip(1) {
            let Some((id, rest)) = part.split_once("): ") else { continue };
            if let Some(allowed) = rest.split("allow_header: Bytes(b\"").nth(1) {
                methods.insert(id, allowed.split('"').next().unwrap_or_default());
            } else if let Some(path) = rest.strip_prefix('"') {
                let path = path.split('"').next().unwrap_or_default();
                let allowed = methods.get(id).copied().unwrap_or_default();
                if !path.contains("__private") {
                    routes
                        .extend(allowed.split(',').filter(|m| !m.is_empty()).map(|m| format!("{m} {path}")));
                }
            }
        }
        routes.retain(|route| !route.starts_with("HEAD "));
        routes.sort();
        routes.dedup();
        routes
    }

    /// Adds a user, whose password is [`PASSWORD`].
    pub(crate) async fn user(&self, name: &str, role: Role) -> UserId {
        static HASH: tokio::sync::OnceCell<String> = tokio::sync::OnceCell::const_new();
        let passwords = &self.service.accounts.passwords;
        let hash = HASH.get_or_init(async || passwords.hash(PASSWORD).await.unwrap()).await;
        let created = crate::timestamp::now();
        let new = NewUser { name, display: name, role, password: Some(hash), created };
        self.service.store.add_user(new).await.unwrap()
    }

    /// A token of a user.
    pub(crate) async fn token(&self, owner: UserId, scopes: &[&str]) -> String {
        let secret = crate::secret::secret().unwrap();
        let created = crate::timestamp::now();
        let new = NewToken { owner, name: "t", secret: &secret, scopes, created, expires: None };
        self.service.store.add_token(new).await.unwrap();
        secret
    }

    async fn answer(&self, what: &str, headers: &[&str], body: Body) -> axum::response::Response {
        let (method, path) = what.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|line| line.starts_with("host:")) {
            request = request.header("host", "127.0.0.1:8080");
        }
        for line in headers {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 9))));
        self.routes.clone().oneshot(request).await.unwrap()
    }

    /// Sends a request, and hears how its answer begins.
    pub(crate) async fn begin(&self, what: &str, headers: &[&str], body: impl Into<Body>) -> StatusCode {
        self.answer(what, headers, body.into()).await.status()
    }

    /// Sends a request: `METHOD path`, header lines as `name: value`, and a body.
    pub(crate) async fn send(&self, what: &str, headers: &[&str], body: impl Into<Body>) -> TestResponse {
        let (parts, body) = self.answer(what, headers, body.into()).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        TestResponse {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Signs in by the API; the line of the cookie.
    pub(crate) async fn sign_in(&self, name: &str) -> String {
        let body = serde_json::json!({"name": name, "password": PASSWORD}).to_string();
        let answer = self.send("POST /api/v1/session", &["content-type: application/json"], body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        format!("cookie: tauto-session={}", answer.cookie("tauto-session").unwrap())
    }
}

/// A judgement that accepts, of nothing that was run.
pub(crate) fn accepted() -> model::Judgement {
    let settled = model::Settled { confidence: model::Confidence::Clear, runs: 0, void_runs: 0 };
    let nothing = model::Judgement::fault("", "");
    model::Judgement {
        language: "c".into(),
        verdict: model::Verdict::Accepted,
        settled,
        fault: None,
        ..nothing
    }
}

/// Lets a node that is not there infer the time limits of the example problems, so that what a test hands in is judged at once.
pub(crate) async fn infer_limits(service: &Service) {
    let store = &service.store;
    for problem in store.problems().await.unwrap() {
        let needs =
            crate::problems::limits::needs(service, &problem.newest, &problem.name, None).await.unwrap();
        if let crate::problems::limits::Needs::Missing(of) = needs {
            crate::problems::limits::ask(service, store::Inferred::TimeLimit, &of, false).await.unwrap();
        }
        let limits = store.time_limits(problem.newest.id).await.unwrap();
        let Some(_) = limits.first().filter(|stored| stored.limit.is_none()) else { continue };
        // It goes before what is of no contest.
        let claim = store::Claim::local("kit/0", store::Timestamp(i64::MAX), crate::timestamp::now());
        let job = store.claim(claim).await.unwrap().unwrap();
        let limit = model::InferredLimit::bare(model::Nanos::from_secs(1), "made up");
        store.finish_limit(job.lease(), &accepted(), &limit, crate::timestamp::now()).await.unwrap();
    }
}
