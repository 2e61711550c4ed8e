//! The OpenAPI document: what applies to all addresses.

use super::problem::{PROBLEM_JSON, ProblemDetails};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, PathItem, Ref, RefOr, ResponseBuilder, Server};
use utoipa::{PartialSchema, ToSchema};

/// Head of the document.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Tautochrone",
        version = "1",
        description = "API of Tautochrone, a judge that stores the evidence behind every measured time: problems, submissions, and judgements \
            with every run. Times are integer nanoseconds (`_ns`), memory is integer bytes (`_bytes`), timestamps are RFC 3339 in UTC. \
            A reading that could not be taken is `{\"unknown\": \"why\"}`. Errors are problem details (RFC 9457).",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "problems", description = "Problems, their packages, time limits and verification"),
        (name = "submissions", description = "Submit programs and follow their judging"),
        (name = "judgements", description = "Judgements, rejudging and trials"),
        (name = "contests", description = "Contests, and where their submissions are judged"),
        (name = "nodes", description = "Nodes, pools and languages"),
        (name = "accounts", description = "Users, sessions and API tokens"),
        (name = "service", description = "Health, version and queue of the service"),
    ),
    components(schemas(ProblemDetails)),
)]
pub(super) struct Head;

/// Error responses of every address: status and description.
const ANSWERS: [(&str, &str); 12] = [
    ("400", "The content does not have the form that it claims"),
    ("401", "Authentication is missing or wrong"),
    ("403", "The user or token lacks the permission"),
    ("404", "It does not exist, or the caller may not see it"),
    ("405", "The address supports other methods"),
    ("409", "The request conflicts with existing data"),
    ("413", "The request is too large"),
    ("415", "Another content type is required"),
    ("422", "A value is invalid; `field` names it"),
    ("429", "Too many requests; `Retry-After` gives the time to wait"),
    ("500", "The service failed"),
    ("503", "The database is busy, full, read-only or unreachable; try again"),
];

/// Adds what applies to all addresses: the base address, authentication and error responses.
pub(super) fn complete(api: &mut OpenApi) {
    api.servers = Some(vec![Server::new("/api/v1")]);
    let components = api.components.get_or_insert_with(Components::new);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("An API token"));
    components.add_security_scheme("token", SecurityScheme::Http(bearer.build()));
    components.schemas.entry(ProblemDetails::name().into_owned()).or_insert_with(ProblemDetails::schema);
    for (status, description) in ANSWERS {
        let schema = Ref::from_schema_name(ProblemDetails::name());
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let answer = ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build();
        components.responses.insert(name_of(status), RefOr::T(answer));
    }
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            operation.operation_id = Some(id_of(method, path));
            add_answers(operation);
        }
    }
}

/// Unique id of an operation, such as `get_submissions_token` for `GET /submissions/{token}`.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(['/', '{', '}', '.', '-']).filter(|word| !word.is_empty());
    words.fold(method.to_string(), |id, word| id + "_" + word)
}

fn name_of(status: &str) -> String {
    format!("Problem{status}")
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, post, put, patch, delete, .. } = item;
    let all = [("get", get), ("post", post), ("put", put), ("patch", patch), ("delete", delete)];
    all.into_iter().filter_map(|(method, operation)| operation.as_mut().map(|operation| (method, operation)))
}

fn add_answers(operation: &mut Operation) {
    for (status, _) in ANSWERS {
        let answer = || RefOr::Ref(Ref::from_response_name(name_of(status)));
        operation.responses.responses.entry(status.into()).or_insert_with(answer);
    }
}

/// The document as text, with one line per value.
pub(super) fn text(api: &OpenApi) -> String {
    serde_json::to_string_pretty(api).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use crate::api::openapi;
    use serde_json::Value;

    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

    #[test]
    fn ids_of_operations_are_distinct() {
        let api: serde_json::Value = serde_json::from_str(&openapi()).expect("JSON");
        let items = api["paths"].as_object().into_iter().flat_map(|paths| paths.values());
        let operations = items.flat_map(|item| item.as_object().into_iter().flat_map(|item| item.values()));
        let ids: Vec<_> = operations.map(|operation| operation["operationId"].to_string()).collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert!(ids.len() > 25 && distinct.len() == ids.len(), "{ids:?}");
    }

    /// Places below `value` with a schema that does not describe its values.
    fn holes(value: &Value, at: &str, found: &mut Vec<String>) {
        let Some(members) = value.as_object() else {
            for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                holes(item, &format!("{at}/{n}"), found);
            }
            return;
        };
        for (key, member) in members {
            let at = format!("{at}/{key}");
            let several = |member: &Value| match member {
                Value::Object(named) => named.values().cloned().collect(),
                Value::Array(all) => all.clone(),
                _ => Vec::new(),
            };
            let schemas: Vec<Value> = match key.as_str() {
                "schema" | "items" | "additionalProperties" => vec![member.clone()],
                "properties" | "schemas" | "oneOf" | "anyOf" | "allOf" => several(member),
                _ => Vec::new(),
            };
            found.extend(
                schemas.iter().filter(|schema| is_hole(schema)).map(|schema| format!("{at}: {schema}")),
            );
            holes(member, &at, found);
        }
    }

    fn is_hole(schema: &Value) -> bool {
        // `additionalProperties: false`.
        if schema == &Value::Bool(false) {
            return false;
        }
        let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
        let is = |kind: &str| match &schema["type"] {
            Value::Array(all) => all.iter().any(|one| one == kind),
            one => one == kind,
        };
        match has(&["$ref", "oneOf", "anyOf", "allOf"]) {
            true => false,
            false if is("object") => !has(&["properties", "additionalProperties"]),
            false if is("array") => !has(&["items"]),
            false => !has(&["type"]),
        }
    }

    #[test]
    fn every_value_has_a_type() {
        let api: Value = serde_json::from_str(&openapi()).expect("JSON");
        let mut found = Vec::new();
        holes(&api, "", &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(is_hole(&serde_json::json!({"type": ["object", "null"]})) && is_hole(&serde_json::json!({})));
    }

    #[test]
    fn every_tag_is_declared() {
        let api: Value = serde_json::from_str(&openapi()).expect("JSON");
        let declared: Vec<_> = api["tags"].as_array().into_iter().flatten().map(|tag| &tag["name"]).collect();
        let items = api["paths"].as_object().into_iter().flat_map(|paths| paths.values());
        let operations = items.filter_map(|item| item.as_object()).flat_map(|item| item.values());
        let used = operations.filter_map(|operation| operation["tags"].as_array()).flatten();
        let missing: std::collections::BTreeSet<_> =
            used.filter(|tag| !declared.contains(tag)).map(ToString::to_string).collect();
        assert!(missing.is_empty() && !declared.is_empty(), "{missing:?} not among {declared:?}");
    }

    /// Writes the file if `TAUTO_WRITE_OPENAPI` is set.
    #[test]
    fn the_committed_document_is_current() {
        let current = openapi();
        if std::env::var_os("TAUTO_WRITE_OPENAPI").is_some() {
            std::fs::write(COMMITTED, &current).expect("docs can be written");
        }
        let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        let remedy = "run TAUTO_WRITE_OPENAPI=1 cargo test -p server document";
        assert!(committed == current, "docs/openapi.json is not what is served: {remedy}");
    }
}
