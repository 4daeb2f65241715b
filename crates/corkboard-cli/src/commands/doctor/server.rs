//! Health checks of a server, and what the token has access to.

use std::time::{Duration, Instant};

use corkboard::tokens::Grant;
use corkboard::{Corkboard, Error, ErrorKind, Identity, Role, ServerAddress};

use super::{
    Depth, Report, SCRATCH, WRITES, duration, load_everything, look_for_damage, median, patiently, time_writes,
};
use crate::args::Global;
use crate::command_session::{IfMissing, Session};
use crate::error::CliError;
use crate::output::one_line;

/// A larger difference of clocks makes times and expiries confusing.
const CLOCKS_AGREE: Duration = Duration::from_secs(10);

/// Checks the server itself first, then its data.
pub(super) async fn examine(
    global: &Global,
    address: &ServerAddress,
    mut report: Report,
    depth: Depth,
) -> Result<(), CliError> {
    let health = patiently(&report, "still waiting for the server", address.health()).await;
    let health = given_up_unless_ok(&mut report, "server", health)?;
    let place = one_line(&corkboard::store::ServerUrl::new(&address.url).to_string());
    let answers = format!("{place} answers in {}: Corkboard {}", duration(health.took), one_line(&health.version));
    report.add("server", Ok(answers))?;
    let is_encrypted = address.url.starts_with("https:");
    report.remark(if is_encrypted { "encrypted: TLS" } else { "encrypted: no" })?;
    let ready = address.readiness().await;
    report.add(
        "ready",
        ready.map(|()| "the server is ready".into()).map_err(|error| format!("the server is not ready: {error}")),
    )?;
    let (apart, whose) = (health.ahead.unsigned_abs(), if health.ahead.is_negative() { "behind" } else { "ahead" });
    let clocks = format!("the server's clock is {} {whose}", duration(apart));
    report.add("clock", if apart > CLOCKS_AGREE { Err(clocks) } else { Ok(clocks) })?;
    if depth == Depth::Quick {
        return if report.conclude(None)? { Ok(()) } else { Err(CliError::Unhealthy) };
    }
    let identity = given_up_unless_ok(&mut report, "token", address.identity().await)?;
    report.add("token", Ok(named(&identity)))?;
    let session = Session::open(global, IfMissing::Fail).await?;
    let result = through(&session.corkboard, &identity, &mut report).await;
    session.close(result).await
}

/// Checks the data that the token has access to.
async fn through(corkboard: &Corkboard, identity: &Identity, report: &mut Report) -> Result<(), CliError> {
    let read = patiently(report, "still reading", time_reads(corkboard)).await;
    report.add("read", read)?;
    let is_admin = identity.role == Role::Admin;
    if is_admin || identity.grants.opens_agent(SCRATCH) {
        let written = patiently(report, "still writing", time_writes(corkboard)).await;
        report.add("write", written)?;
    } else {
        report.remark(&format!("writes not timed: the token has no access to agent {SCRATCH:?}"))?;
    }
    match is_admin {
        true => look_for_damage(corkboard, report).await?,
        false => report.remark("not checked for damage: this needs an admin's token")?,
    }
    load_everything(corkboard, report).await?;
    report.finish(Some(&corkboard.store_info()))
}

async fn time_reads(corkboard: &Corkboard) -> Result<String, String> {
    let mut times = Vec::new();
    for _ in 0..WRITES {
        let started = Instant::now();
        corkboard.agents(None, 1).await.map_err(|error| format!("reads fail: {error}"))?;
        times.push(started.elapsed());
    }
    Ok(format!("a read takes {}", median(&mut times)))
}

/// Ends the report if the check failed, because the later ones depend on it.
fn given_up_unless_ok<T>(report: &mut Report, check: &'static str, found: Result<T, Error>) -> Result<T, CliError> {
    match found {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == ErrorKind::Invalid => Err(error.into()),
        Err(error) => {
            report.add(check, Err(error.to_string()))?;
            report.finish(None)?;
            Err(CliError::Reported(error))
        }
    }
}

fn named(identity: &Identity) -> String {
    let Identity { principal, role, grants, .. } = identity;
    let list = |grants: &[Grant]| match grants {
        [] => "none".to_owned(),
        grants => grants.iter().map(|grant| one_line(&grant.to_string())).collect::<Vec<_>>().join(", "),
    };
    let opens = match role {
        Role::Admin => "the token has access to everything".to_owned(),
        _ => {
            let (agents, boards, cores) = (list(&grants.agents), list(&grants.boards), list(&grants.cores));
            format!("the token has access to agents: {agents}; boards: {boards}; cores: {cores}")
        }
    };
    format!("you are {} with role {role}; {opens}", one_line(principal))
}
