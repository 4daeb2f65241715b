//! The size of a command: the bytes of its texts, and a few for every task that it names.

use alloc::string::String;

use super::{
    BoardCommand, BoardEdit, BoardForget, CoreRef, LearningChanges, LearningId, NewArtifact, NewBoard, NewChoice,
    NewDecision, NewDiscovery, NewTask, TaskRef, WhichLearnings,
};

/// Bytes counted for naming a task.
const NAMED: usize = 8;

impl BoardCommand {
    /// The bytes counted against the size limit of a command. An image does not count: the limit for a state applies to
    /// it.
    pub(super) fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Create(board) => board_bytes(board),
            Self::CreateWithTasks { board, tasks } => board_bytes(board) + tasks.iter().map(task_bytes).sum::<usize>(),
            Self::Edit { edit, .. } => {
                let BoardEdit { name, goal, constraints, cores, on_failure: _, drawn } = edit;
                let lists = [constraints, cores].into_iter().flatten().map(|list| all(list)).sum::<usize>();
                let drawn = drawn.iter().flatten().map(CoreRef::bytes).sum::<usize>();
                text(name) + text(goal) + lists + drawn
            }
            Self::AddTasks { tasks, choices } => {
                tasks.iter().map(task_bytes).sum::<usize>() + choices.iter().map(choice_bytes).sum::<usize>()
            }
            Self::EditTask { edit, .. } => text(&edit.title) + text(&edit.description),
            Self::Review { comment, .. }
            | Self::CancelTask { reason: comment, .. }
            | Self::Complete { reason: comment, .. }
            | Self::Cancel { reason: comment }
            | Self::Judge { comment, .. }
            | Self::Pause { reason: comment }
            | Self::Discard { reason: comment }
            | Self::SetStatus { reason: comment, .. } => text(comment),
            Self::SendNudge(nudge) => nudge.message.len(),
            Self::DeliverNudges { nudges } | Self::AcknowledgeNudges { nudges } => NAMED * nudges.len(),
            Self::Choose { option, rationale, .. } => option.len() + text(rationale),
            Self::CompleteTask { result, .. } => result.summary.len() + all(&result.next_steps),
            Self::FailTask { reason, .. } => reason.len(),
            Self::RecordDecision(decision) => {
                let NewDecision {
                    question,
                    choice,
                    alternatives,
                    rationale,
                    affects_tasks,
                    reversible: _,
                    supersedes: _,
                    needs_approval: _,
                    trust: _,
                    force: _,
                } = decision;
                let named = NAMED * affects_tasks.len();
                question.len() + choice.len() + all(alternatives) + rationale.len() + named
            }
            Self::RecordDiscovery(discovery) => {
                let NewDiscovery { content, affects_tasks, promote_to_core, kind: _, trust: _ } = discovery;
                content.len() + text(promote_to_core) + NAMED * affects_tasks.len()
            }
            Self::RecordArtifact(artifact) => {
                let NewArtifact { path, description, checksum, content, kind: _, task: _, size: _, trust: _ } =
                    artifact;
                path.len() + description.len() + text(checksum) + text(content)
            }
            Self::PromoteLearning { core, changes, .. } => {
                let LearningChanges { content, tags, kind: _, importance: _, trust: _ } = &**changes;
                text(core) + text(content) + tags.as_ref().map_or(0, |tags| all(tags))
            }
            Self::Fork { name, .. } => text(name),
            Self::AbandonPromotion { reason, .. } => reason.len(),
            Self::RefuseLearning { reason, .. } => text(reason),
            Self::Forget { forget: BoardForget::Text { text } } => text.len(),
            Self::RollBackLearnings { which: WhichLearnings::All, reason } => text(reason),
            Self::RollBackLearnings { which: WhichLearnings::These(learnings), reason } => {
                text(reason) + learnings.iter().map(LearningId::bytes).sum::<usize>()
            }
            Self::AsOrchestrator { command, .. } | Self::UnderClaim { command, .. } => return command.bytes(),
            Self::AddDependency { .. }
            | Self::RemoveDependency { .. }
            | Self::Assign { .. }
            | Self::AssignReview { .. }
            | Self::Retry { .. }
            | Self::RetryFailed
            | Self::AcquireOrchestrator { .. }
            | Self::RenewOrchestrator { .. }
            | Self::ReleaseOrchestrator { .. }
            | Self::Claim { .. }
            | Self::Heartbeat { .. }
            | Self::Release { .. }
            | Self::Archive { .. }
            | Self::Purge
            | Self::Resume
            | Self::ExtractLearnings
            | Self::FinishPromotion { .. }
            | Self::FinishAbandonment { .. }
            | Self::FinishRollBack { .. }
            | Self::Forget { forget: BoardForget::Record { .. } }
            | Self::Tick => 0,
        };
        bytes as u64
    }
}

fn text(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

fn all(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

fn board_bytes(board: &NewBoard) -> usize {
    let NewBoard { name, goal, constraints, cores, on_failure: _, drawn, pattern } = board;
    let drawn = drawn.iter().chain(pattern).map(CoreRef::bytes).sum::<usize>();
    name.len() + goal.len() + all(constraints) + all(cores) + drawn
}

fn task_bytes(task: &NewTask) -> usize {
    text(&task.key) + task.title.len() + task.description.len() + named(&task.depends_on)
}

fn choice_bytes(choice: &NewChoice) -> usize {
    let options = choice.options.iter().map(|branch| branch.name.len() + named(&branch.tasks));
    choice.question.len() + options.sum::<usize>()
}

fn named(tasks: &[TaskRef]) -> usize {
    let bytes = tasks.iter().map(|task| match task {
        TaskRef::Task(_) => NAMED,
        TaskRef::Member(key) => key.len(),
    });
    bytes.sum()
}
