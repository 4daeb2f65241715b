//! Tokens: who may create and revoke them, their lifetime, what they grant, and how they are stored.

use corkboard_core::tokens::{
    Grant, Grants, NewToken, TokenHash, TokensCommand, TokensEvent, TokensReply, TokensState,
};
use corkboard_core::{
    Actor, ActorKind, Commit, CommitId, Context, LimitName, Limits, Refusal, Request, RequestOutcome, Revisioned, Role,
    Space,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

struct Keyring {
    live: Revisioned<TokensState>,
    limits: Limits,
    now: Timestamp,
    log: Vec<Vec<u8>>,
}

impl Keyring {
    fn new() -> Self {
        let now = Timestamp::from_second(1_000).unwrap();
        Self { live: Revisioned::default(), limits: Limits::default(), now, log: Vec::new() }
    }

    fn ask(&mut self, role: Role, command: TokensCommand) -> Result<TokensReply, Refusal> {
        let actor = Actor { role, ..Actor::local() };
        let context = Context::new(self.now, &actor, &self.limits, Uuid::nil());
        let decided = self.live.decide(&crate::wire::arrived_request::<TokensState>(&Request::new(command)), &context);
        crate::wire::check_answer(&decided);
        match decided? {
            RequestOutcome::Unchanged { reply, .. } => Ok(reply),
            RequestOutcome::Commit { commit, reply, .. } => {
                let id = CommitId(Uuid::from_u128(u128::from(self.live.head.rev) + 1));
                self.live.apply(&commit, id, &self.limits).unwrap();
                self.log.push(commit.encode().unwrap());
                Ok(reply)
            }
        }
    }

    fn create(&mut self, token: NewToken) -> Result<String, Refusal> {
        match self.ask(Role::Admin, TokensCommand::Create(token))? {
            TokensReply::Created { id } => Ok(id.to_string()),
            TokensReply::Done => panic!("expected a token"),
        }
    }

    fn can_use(&self, number: u8) -> bool {
        self.live.state.find(&hash(number), self.now).is_some()
    }
}

fn hash(number: u8) -> TokenHash {
    TokenHash::new([number; 32])
}

fn token(number: u8) -> NewToken {
    NewToken {
        hash: hash(number),
        principal: format!("agent-{number}"),
        kind: ActorKind::Agent,
        role: Role::Worker,
        grants: Grants::default(),
        expires_at: None,
        label: String::new(),
    }
}

#[test]
fn only_admins_create_and_revoke_tokens() {
    let mut keys = Keyring::new();
    for role in Role::ALL {
        let made = keys.ask(role, TokensCommand::Create(token(1)));
        assert_eq!(made.is_ok(), role == Role::Admin, "{role}: {made:?}");
    }
    let id = "K-1".parse().unwrap();
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
        let refused = keys.ask(role, TokensCommand::Revoke { token: id }).unwrap_err();
        assert!(matches!(refused, Refusal::RoleDenied { .. }), "{refused}");
    }
    assert!(keys.can_use(1));
    keys.ask(Role::Admin, TokensCommand::Revoke { token: id }).unwrap();
    assert!(!keys.can_use(1));
    let again = keys.ask(Role::Admin, TokensCommand::Revoke { token: id }).unwrap_err();
    assert_eq!(again, Refusal::NoToken { token: id });
    assert_eq!(keys.create(token(2)).unwrap(), "K-2", "a number must not be given twice");
}

#[test]
fn a_token_expires_on_time_and_is_swept_by_the_next_command() {
    let mut keys = Keyring::new();
    let expires_at = Some(keys.now + SignedDuration::from_secs(10));
    keys.create(NewToken { expires_at, ..token(1) }).unwrap();
    keys.create(token(2)).unwrap();
    assert_eq!(keys.live.state.next_due(), expires_at);
    keys.now += SignedDuration::from_secs(9);
    assert!(keys.can_use(1));
    keys.now += SignedDuration::from_secs(1);
    assert!(!keys.can_use(1) && keys.can_use(2), "an expired token should not work, swept or not");
    keys.ask(Role::Admin, TokensCommand::Tick).unwrap();
    assert_eq!((keys.live.state.next_due(), keys.live.state.usage().entries), (None, 1));
    let past = keys.create(NewToken { expires_at: Some(keys.now), ..token(3) }).unwrap_err();
    assert!(matches!(past, Refusal::Expiry { .. }), "{past}");
}

#[test]
fn names_and_counts_have_limits() {
    let mut keys = Keyring::new();
    let long = "x".repeat(usize::try_from(keys.limits.agent_id_bytes).unwrap() + 1);
    for wrong in [
        NewToken { principal: " ".into(), ..token(1) },
        NewToken { principal: long.clone(), ..token(1) },
        NewToken { label: "two\nlines".into(), ..token(1) },
        NewToken { grants: Grants { boards: vec![Grant::new("")], ..Grants::default() }, ..token(1) },
        NewToken { grants: Grants { cores: vec![Grant::new(&long)], ..Grants::default() }, ..token(1) },
    ] {
        keys.create(wrong.clone()).expect_err(&format!("{wrong:?}"));
    }
    keys.limits.tokens_per_store = 1;
    keys.create(token(1)).unwrap();
    let full = keys.create(token(2)).unwrap_err();
    assert!(matches!(full, Refusal::Limit { limit: LimitName::TokensPerStore, used: 2, allowed: 1 }), "{full}");
}

#[test]
fn grants_give_access_to_what_they_name() {
    let grants = Grants {
        agents: vec![Grant::new("ada")],
        boards: vec![Grant::new("team-*")],
        cores: vec![Grant::everything()],
    };
    assert!(grants.opens_agent("ada") && !grants.opens_agent("adam") && !grants.opens_agent("*"));
    assert!(grants.opens_board("team-") && grants.opens_board("team-1") && !grants.opens_board("tea"));
    assert!(grants.opens_core("rules"));
    assert!(grants.opens_core("agent:ada"), "access to an agent should include its core");
    assert!(!grants.opens_core("agent:bob"), "a grant of all cores should not include agents' cores");
    assert!(Grants::default().is_empty() && !Grants::default().opens_board("x"));
}

#[test]
fn a_log_and_a_snapshot_lead_to_the_same_tokens() {
    let mut keys = Keyring::new();
    keys.create(NewToken { label: "ci".into(), grants: Grants::everything(), ..token(1) }).unwrap();
    keys.create(token(2)).unwrap();
    keys.create(NewToken { expires_at: Some(keys.now + SignedDuration::from_secs(5)), ..token(3) }).unwrap();
    keys.ask(Role::Admin, TokensCommand::Revoke { token: "K-2".parse().unwrap() }).unwrap();
    keys.now += SignedDuration::from_secs(5);
    keys.ask(Role::Admin, TokensCommand::Tick).unwrap();
    let mut folded = Revisioned::<TokensState>::default();
    for (index, line) in keys.log.iter().enumerate() {
        let commit = Commit::<TokensEvent, TokensReply>::decode(line).unwrap();
        folded.apply(&commit, CommitId(Uuid::from_u128(index as u128 + 1)), &keys.limits).unwrap();
    }
    assert_eq!(folded, keys.live);
    let decoded = Revisioned::<TokensState>::decode(&keys.live.encode().unwrap()).unwrap();
    assert_eq!(decoded, keys.live);
    let stored = String::from_utf8(keys.log.concat()).unwrap();
    for word in ["\"created\"", "\"revoked\"", "\"expired\"", "\"K-3\"", "\"ci\""] {
        assert!(stored.contains(word), "{word}: {stored}");
    }
}
