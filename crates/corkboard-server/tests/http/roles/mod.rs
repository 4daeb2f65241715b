//! Calls every operation in every role: forbidden calls are refused as the core's tables say, and write nothing.

mod agents;
mod boards;
mod cores;
mod examples;
mod expected;
mod fixture;
mod operation;
mod others;
mod spaces;

use std::sync::LazyLock;

use corkboard::tokens::{Grant, Grants};
use corkboard::{Actor, ActorKind, Options, Role, TokenRequest};
use corkboard_server::{Metrics, Rate, Settings};
use serde_json::{Value, json};

use crate::support::{Client, Running, in_memory, settings};
use expected::Reach;
use fixture::{AGENT, BOARD, CORE, Fixture};
use operation::{Case, cases};

/// Who sends a request, and the client with their token.
struct Caller {
    actor: Actor,
    client: Client,
}

/// Which operations to call.
enum For {
    /// Operations on one space, which the token grants.
    Most,
    /// Operations in an agent's private core, as that agent.
    OwnCore,
    /// Operations that need everything, which the token grants.
    Everything,
}

/// A process can install metrics only once.
static METRICS: LazyLock<Metrics> = LazyLock::new(|| Metrics::install().unwrap());

/// A server with metrics and without rate limits.
async fn start() -> Running {
    let often = Rate { burst: 1e9, per_second: 1e9 };
    let metrics = Some(METRICS.clone());
    Running::with(in_memory(Options::default()), Settings { requests: often, metrics, ..settings() }).await
}

async fn caller(server: &Running, principal: &str, role: Role, grants: Grants) -> Caller {
    let is_person = [Role::Human, Role::Admin].contains(&role);
    let kind = if is_person { ActorKind::Human } else { ActorKind::Agent };
    let (label, actor) = (String::new(), Actor::new(principal, kind, role));
    let request = TokenRequest { principal: principal.to_owned(), kind, role, grants, expires_at: None, label };
    Caller { actor, client: server.client_with(request).await }
}

fn grants(agent: &str, board: &str, core: &str) -> Grants {
    let only = |name: &str| vec![Grant::new(name)];
    Grants { agents: only(agent), boards: only(board), cores: only(core) }
}

#[tokio::test]
async fn without_a_token_only_public_routes_work() {
    let server = start().await;
    let fixture = Fixture::new(&server.corkboard).await;
    for case in cases(&server).await {
        let answered = case.send(None, &fixture).await;
        match case.expected.reach {
            Reach::Public => {
                assert_eq!(case.operation["security"], serde_json::json!([{}]), "{case}");
                assert_ne!(answered.body["detail"], "no token: send Authorization: Bearer …", "{case}");
            }
            _ => {
                answered.problem(401, "unauthenticated");
                assert_eq!(answered.headers["www-authenticate"], "Bearer realm=\"corkboard\"", "{case}");
            }
        }
        let (before, now) = fixture.contents().await;
        assert_eq!(*before, now, "{case}");
    }
    server.stop().await;
}

/// A mistyped parameter is refused and writes nothing.
#[tokio::test]
async fn an_unknown_parameter_is_refused() {
    let server = start().await;
    let Caller { actor, client } = caller(&server, "an-admin", Role::Admin, Grants::default()).await;
    let fixture = Fixture::new(&server.corkboard).await;
    for case in cases(&server).await {
        let mistyped = case.with_parameter("lim%69tt=3").send(Some((&client, &actor)), &fixture).await;
        if case.expected.reach == Reach::Public {
            assert_ne!(mistyped.body["code"], "query", "{case}");
            continue;
        }
        assert_eq!(mistyped.body["code"], "query", "{case}: {} {}", mistyped.status, mistyped.body);
        mistyped.problem(400, "query");
        assert!(mistyped.body["detail"].as_str().unwrap().contains("`limitt`"), "{case}: {}", mistyped.body);
        if !case.takes("if_rev") {
            let conditional = case.with_parameter("if_rev=1").send(Some((&client, &actor)), &fixture).await;
            assert_eq!(conditional.body["code"], "condition", "{case}: {}", conditional.body);
        }
        let (before, now) = fixture.contents().await;
        assert_eq!(*before, now, "{case}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_token_without_the_grant_is_refused_unless_it_is_an_admins() {
    let server = start().await;
    let fixture = Fixture::new(&server.corkboard).await;
    let mut strangers = Vec::new();
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
        let elsewhere = grants("elsewhere", "elsewhere", "elsewhere");
        strangers.push(caller(&server, &format!("a-{role}"), role, elsewhere).await);
    }
    let fixture = fixture.renewed().await;
    for case in cases(&server).await {
        for Caller { actor, client } in &strangers {
            let answered = case.send(Some((client, actor)), &fixture).await;
            let who = format!("{}: {case}: {} {}", actor.role, answered.status, answered.body);
            match case.expected.reach {
                Reach::Public => {}
                Reach::AnyToken => assert!(answered.status.is_success(), "{who}"),
                Reach::Listed if case.expected.allows(actor) => {
                    assert!(answered.status.is_success(), "{who}");
                    let listed = answered.body.to_string();
                    assert!(![AGENT, BOARD, CORE].iter().any(|name| listed.contains(&format!("\"{name}"))), "{who}");
                }
                Reach::Named | Reach::Everything => assert_eq!(answered.denial(), Some("not_granted"), "{who}"),
                Reach::Listed | Reach::Admins => assert_eq!(answered.denial(), Some("role_denied"), "{who}"),
            }
            let (before, now) = fixture.contents().await;
            assert_eq!(*before, now, "{who}");
        }
    }
    server.stop().await;
}

/// Operations of a board that access a core also need a grant for the core.
#[tokio::test]
async fn a_token_for_a_board_but_not_its_core_cannot_access_the_core() {
    let server = start().await;
    let mut callers = Vec::new();
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
        let opened = grants(AGENT, &format!("{BOARD}*"), "elsewhere");
        callers.push(caller(&server, &format!("a-{role}"), role, opened).await);
    }
    let mut fixture = Fixture::new(&server.corkboard).await;
    for case in cases(&server).await.into_iter().filter(|case| case.expected.is_on_board()) {
        for Caller { actor, client } in &callers {
            let answered = case.send(Some((client, actor)), &fixture).await;
            let who = format!("{}: {case}: {} {}", actor.role, answered.status, answered.body);
            let (before, now) = fixture.contents().await;
            assert_eq!(before.core(), now.core(), "{who}");
            if case.expected.reaches_core {
                assert_eq!(answered.denial(), Some("not_granted"), "{who}");
                assert_eq!(*before, now, "{who}");
            }
            fixture = fixture.renewed().await;
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_token_with_the_grant_allows_what_the_tables_say() {
    let server = start().await;
    let mut callers = Vec::new();
    for role in Role::ALL {
        // The ID of a new board must match a grant.
        let opened = || grants(AGENT, &format!("{BOARD}*"), CORE);
        callers.push((caller(&server, &format!("a-{role}"), role, opened()).await, For::Most));
        callers.push((caller(&server, AGENT, role, opened()).await, For::OwnCore));
        callers.push((caller(&server, &format!("b-{role}"), role, Grants::everything()).await, For::Everything));
    }
    let (mut fixture, mut wrong) = (Fixture::new(&server.corkboard).await, Vec::new());
    for case in cases(&server).await {
        for (caller, calls) in &callers {
            let is_theirs = match calls {
                For::Most => case.expected.reach != Reach::Everything,
                For::OwnCore => case.expected.is_in_own_core(),
                For::Everything => case.expected.reach == Reach::Everything,
            };
            if !is_theirs {
                continue;
            }
            wrong.extend(check(&case, caller, &fixture).await);
            fixture = fixture.renewed().await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop().await;
}

/// serde would read an array as the object's fields in order, and null as an object without fields.
#[tokio::test]
async fn only_objects_are_accepted_where_an_object_is_expected() {
    let server = start().await;
    let fixture = Fixture::new(&server.corkboard).await;
    let (admin, actor) = (server.admin(), Actor::new("admin", ActorKind::Human, Role::Admin));
    let description = admin.get("/openapi.json").await.ok();
    let takes_json = |case: &Case<'_>| case.operation["requestBody"]["content"].get("application/json").is_some();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for case in cases(&server).await.into_iter().filter(takes_json) {
        if !case.takes_object(&description) {
            wrong.push(format!("{case}: described as {}", case.operation["requestBody"]["content"]));
        }
        for json in ["[]", "null", "\"v\"", "[\"v\"]", "[\"v\",null]", "[null,null,null]", "[[],[],[],[]]"] {
            let case = case.saying(json);
            let answered = case.send(Some((&admin, &actor)), &fixture).await;
            let code = answered.body["code"].as_str().unwrap_or_default();
            let detail = answered.body["detail"].as_str().unwrap_or_default();
            let is_told = match code {
                "body_json" | "command" => detail.contains("expected a JSON object"),
                // This route also accepts bytes.
                code => code == "not_a_snapshot",
            };
            if answered.status != 400 || !is_told || detail.contains("struct") {
                wrong.push(format!("{case}: {} {}", answered.status, answered.body));
            }
            let (before, now) = fixture.contents().await;
            if *before != now {
                wrong.push(format!("{case}: something was written"));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 300, "only {checked} were checked");
    server.stop().await;
}

/// A client that repeats a request because it does not know the outcome does no harm.
#[tokio::test]
async fn every_post_supports_an_idempotency_key_or_refuses_it() {
    let server = start().await;
    let (admin, actor) = (server.admin(), Actor::new("admin", ActorKind::Human, Role::Admin));
    let (mut fixture, mut replayed) = (Fixture::new(&server.corkboard).await, 0);
    let is_guarded_post = |case: &Case<'_>| case.expected.route().0 == "POST" && case.expected.reach != Reach::Public;
    for (number, case) in cases(&server).await.into_iter().filter(is_guarded_post).enumerate() {
        let named = case.with_header("idempotency-key", &format!("request-{number}"));
        let first = named.send(Some((&admin, &actor)), &fixture).await;
        assert!(!first.headers.contains_key("idempotency-replayed"), "{case}");
        let (before, after_first) = fixture.contents().await;
        if !case.takes("Idempotency-Key") {
            first.problem(400, "condition");
            assert!(first.body["detail"].as_str().unwrap().contains("Idempotency-Key"), "{case}: {}", first.body);
            assert_eq!(*before, after_first, "{case}");
        } else if first.status.is_success() && *before != after_first {
            let again = named.send(Some((&admin, &actor)), &fixture).await;
            let is_replay = again.headers.get("idempotency-replayed").is_some_and(|it| it == "true");
            assert!(is_replay && again.status == first.status, "{case}: {} {:?}", again.status, again.headers);
            // Clearing also affects conversations, which are in no log. Finishing a promotion adds a revision to the
            // board.
            let operation = case.expected.operation;
            let may_differ = operation.contains("/learnings/") || operation == "POST /v1/agents/{agent}/clear";
            let same = |(field, value): (&String, &Value)| {
                first.body[field] == *value || may_differ && ["rev", "removed"].contains(&field.as_str())
            };
            assert!(again.body.as_object().unwrap().iter().all(same), "{case}: {} {}", first.body, again.body);
            assert_eq!(after_first, fixture.contents().await.1, "{case}");
            replayed += 1;
        }
        fixture = fixture.renewed().await;
    }
    assert!(replayed > 40, "only {replayed} were replayed");
    server.stop().await;
}

/// Clients, proxies and browsers may repeat a GET at any time.
#[tokio::test]
async fn a_get_changes_nothing() {
    let server = start().await;
    let everyone = [
        caller(&server, "an-admin", Role::Admin, Grants::default()).await,
        caller(&server, "a-worker", Role::Worker, Grants::everything()).await,
        caller(&server, "holder", Role::Worker, Grants::everything()).await,
    ];
    let (fixture, mut checked) = (Fixture::new(&server.corkboard).await, 0);
    for case in cases(&server).await.into_iter().filter(|case| case.expected.route().0 == "GET") {
        for Caller { actor, client } in &everyone {
            let answered = case.send(Some((client, actor)), &fixture).await;
            let (before, now) = fixture.contents().await;
            assert_eq!(*before, now, "{}: {case}", actor.principal);
            checked += usize::from(answered.status.is_success());
        }
    }
    assert!(checked > 200, "only {checked} were answered");
    server.stop().await;
}

/// Numbers out of their described range are refused, not adjusted, and the message names the range.
#[tokio::test]
async fn a_number_out_of_its_described_range_is_refused() {
    let server = start().await;
    let (admin, actor) = (server.admin(), Actor::new("admin", ActorKind::Human, Role::Admin));
    let description = admin.get("/openapi.json").await.ok();
    let (fixture, mut checked) = (Fixture::new(&server.corkboard).await, 0);
    // A snapshot is not parsed like other bodies.
    let has_ranges =
        |case: &Case<'_>| case.expected.reach != Reach::Public && !case.expected.operation.ends_with("/restore");
    for case in cases(&server).await.into_iter().filter(has_ranges) {
        let mut outside = Vec::new();
        for parameter in case.operation["parameters"].as_array().into_iter().flatten() {
            // A reference to a header of all routes has no name.
            let Some(name) = parameter["name"].as_str() else { continue };
            for number in beyond(&parameter["schema"]).into_iter().filter(|_| parameter["in"] == "query") {
                outside.push((name.to_owned(), number.clone(), case.with_parameter(&format!("{name}={number}"))));
            }
        }
        let body = case.object().unwrap_or_default();
        for (name, schema) in
            fields(&description, &case.operation["requestBody"]["content"]["application/json"]["schema"])
        {
            for number in beyond(schema) {
                let mut body = body.clone();
                body.insert(name.into(), number.clone());
                outside.push((name.to_owned(), number, case.saying(&Value::Object(body).to_string())));
            }
        }
        for (name, number, case) in outside {
            let refused = case.send(Some((&admin, &actor)), &fixture).await;
            assert_eq!(
                refused.body["code"], "out_of_range",
                "{name}={number} {case}: {} {}",
                refused.status, refused.body
            );
            refused.problem(400, "out_of_range");
            assert_eq!((&refused.body["parameter"], &refused.body["value"]), (&json!(name), &number), "{case}");
            assert!(refused.body.get("minimum").is_some() || refused.body.get("maximum").is_some(), "{}", refused.body);
            assert_eq!(*fixture.contents().await.0, fixture.contents().await.1, "{case}");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} were checked");
    server.stop().await;
}

/// Numbers just outside the range of a schema.
fn beyond(schema: &Value) -> Vec<Value> {
    let bound = |name: &str, step: i64| match schema[name].as_i64() {
        Some(bound) => Some(json!(bound + step)),
        None => schema[name].as_f64().map(|bound| json!(bound + step as f64)),
    };
    [bound("minimum", -1), bound("maximum", 1)].into_iter().flatten().collect()
}

/// The fields of a body and its variants.
fn fields<'a>(description: &'a Value, schema: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let named = schema["$ref"].as_str().and_then(|path| description.pointer(path.strip_prefix('#')?));
    let parts = ["oneOf", "allOf"].into_iter().filter_map(|of| schema[of].as_array()).flatten();
    let own = schema["properties"].as_object().into_iter().flatten().map(|(name, field)| (name.as_str(), field));
    named.into_iter().chain(parts).flat_map(|part| fields(description, part)).chain(own).collect()
}

/// Checks an answer against the tables. Returns what is wrong with it, if anything.
async fn check(case: &Case<'_>, Caller { actor, client }: &Caller, fixture: &Fixture) -> Option<String> {
    let answered = case.send(Some((client, actor)), fixture).await;
    let denial = match answered.body["code"].as_str() {
        // Callers who may supersede only their own decisions learn the author, and callers who may not take another's
        // task learn its holder.
        Some("not_author") if case.expected.operation.ends_with("/supersede") => Some("role_denied"),
        Some("fenced") if case.expected.operation.ends_with("/{task}/release") => Some("role_denied"),
        // Only the target of a nudge may acknowledge it.
        Some("not_for_you") => None,
        // The server has no embedding model, which only callers with permission learn.
        Some("no_embedder") if case.expected.operation.ends_with("/reindex") && case.expected.allows(actor) => {
            return None;
        }
        _ => answered.denial(),
    };
    let (before, now) = fixture.contents().await;
    let wrong = match (case.expected.allows(actor), denial) {
        _ if case.expected.reach == Reach::Public => None,
        (false, Some("role_denied")) if *before == now => None,
        (false, Some("role_denied")) => Some("was refused, but something was written"),
        (false, _) => Some("should be refused"),
        (true, Some(_)) => Some("should not be refused"),
        (true, None) if answered.status.is_success() => None,
        (true, None) if case.expected.is_on_board() && answered.status.is_client_error() => None,
        (true, None) => Some("was allowed, but failed for another reason"),
    }?;
    let Actor { principal, role, .. } = actor;
    Some(format!("{principal} ({role}) {wrong}: {case}: {} {}", answered.status, answered.body))
}
