//! A fast encoder for the most frequent events (tasks started, renewed, submitted, completed). It writes the same bytes
//! as serde.

use alloc::vec::Vec;

use super::{BoardEvent, BoardReply, TaskId, TaskResult};
use crate::json::JsonText;
use crate::knowledge::Trust;
use crate::{AgentId, Commit};

/// About how many bytes the fields take besides the texts in them.
const FIELDS: usize = 320;

/// None if the commit contains something else: serde must encode it.
pub(super) fn encode(commit: &Commit<BoardEvent, BoardReply>) -> Option<Vec<u8>> {
    let mut json = JsonText::with_capacity(FIELDS + commit.events.iter().map(text_bytes).sum::<usize>());
    commit.write_head(&mut json)?;
    for (index, event) in commit.events.iter().enumerate() {
        json.raw(if index > 0 { "," } else { "" });
        write_event(event, &mut json)?;
    }
    json.raw("]}");
    Some(json.into_bytes())
}

fn write_event(event: &BoardEvent, json: &mut JsonText) -> Option<()> {
    match event {
        BoardEvent::TaskStarted { task, agent, epoch, deadline, lease } if lease.subsec_millis() == 0 => {
            begin("{\"task_started\":{\"task\":\"T-", *task, json);
            json.raw(",\"agent\":");
            json.optional_text(agent.as_ref().map(AgentId::as_str));
            json.raw(",\"epoch\":");
            json.number(*epoch);
            json.raw(",\"deadline\":");
            json.time(*deadline);
            json.raw(",\"lease_s\":");
            json.number(lease.as_secs());
        }
        BoardEvent::LeaseRenewed { task, deadline } => {
            begin("{\"lease_renewed\":{\"task\":\"T-", *task, json);
            json.raw(",\"deadline\":");
            json.time(*deadline);
        }
        BoardEvent::TaskCompleted { task, result } => {
            begin("{\"task_completed\":{\"task\":\"T-", *task, json);
            write_result(result.as_deref(), json);
        }
        BoardEvent::TaskSubmitted { task, result } => {
            begin("{\"task_submitted\":{\"task\":\"T-", *task, json);
            write_result(result.as_deref(), json);
        }
        _ => return None,
    }
    json.raw("}}");
    Some(())
}

fn begin(name: &str, task: TaskId, json: &mut JsonText) {
    json.raw(name);
    json.number(task.0);
    json.raw("\"");
}

fn write_result(result: Option<&TaskResult>, json: &mut JsonText) {
    json.raw(",\"result\":");
    let Some(TaskResult { summary, next_steps, trust }) = result else { return json.raw("null") };
    json.raw("{\"summary\":");
    json.text(summary);
    json.raw(",\"next_steps\":[");
    for (index, step) in next_steps.iter().enumerate() {
        json.raw(if index > 0 { "," } else { "" });
        json.text(step);
    }
    json.raw("],\"trust\":");
    json.optional_text(trust.map(Trust::as_str));
    json.raw("}");
}

fn text_bytes(event: &BoardEvent) -> usize {
    match event {
        BoardEvent::TaskCompleted { result: Some(result), .. }
        | BoardEvent::TaskSubmitted { result: Some(result), .. } => {
            result.summary.len() + result.next_steps.iter().map(|step| step.len() + 3).sum::<usize>()
        }
        _ => 0,
    }
}
