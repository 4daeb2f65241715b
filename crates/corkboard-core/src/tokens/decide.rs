//! Turns a command about access tokens into events, or refuses it.

use alloc::vec;
use alloc::vec::Vec;

use super::{NewToken, TokenId, TokensCommand, TokensEvent, TokensReply, TokensState};
use crate::id::{check_principal, check_visible};
use crate::space::CommandEffects;
use crate::{Context, LimitName, Limits, Refusal, Role};

type DecideResult = Result<CommandEffects<TokensEvent, TokensReply>, Refusal>;

pub(super) fn decide(state: &TokensState, command: &TokensCommand, context: &Context<'_>) -> DecideResult {
    match command {
        TokensCommand::Create(new) => create(state, new, context),
        TokensCommand::Revoke { token } => revoke(state, *token, context),
        TokensCommand::Tick => Ok(CommandEffects::new(Vec::new(), TokensReply::Done)),
    }
}

fn create(state: &TokensState, new: &NewToken, context: &Context<'_>) -> DecideResult {
    check_admin(context, "create a token")?;
    let limits = context.limits;
    check_principal("principal", &new.principal, limits)?;
    check_visible("principal", &new.principal)?;
    check_visible("label", &new.label)?;
    if !new.label.is_empty() {
        check_principal("label", &new.label, limits)?;
    }
    Limits::check(LimitName::LinesPerList, new.grants.all().count() as u64, limits.lines_per_list)?;
    for grant in new.grants.all() {
        check_principal("grant", grant.as_str(), limits)?;
        check_visible("grant", grant.as_str())?;
    }
    if new.expires_at.is_some_and(|at| at <= context.now) {
        return Err(Refusal::Expiry { reason: "it must be in the future".into() });
    }
    Limits::check(LimitName::TokensPerStore, state.tokens.len() as u64 + 1, limits.tokens_per_store)?;
    let id = TokenId(state.last.0.saturating_add(1));
    Ok(CommandEffects::new(vec![TokensEvent::Created { id, token: new.clone() }], TokensReply::Created { id }))
}

fn revoke(state: &TokensState, id: TokenId, context: &Context<'_>) -> DecideResult {
    check_admin(context, "revoke a token")?;
    if !state.tokens.contains_key(&id) {
        return Err(Refusal::NoToken { token: id });
    }
    Ok(CommandEffects::new(vec![TokensEvent::Revoked { id }], TokensReply::Done))
}

fn check_admin(context: &Context<'_>, what: &'static str) -> Result<(), Refusal> {
    match context.actor.role {
        Role::Admin => Ok(()),
        _ => Err(Refusal::role_denied(context.actor, what, None, &[Role::Admin])),
    }
}
