//! Asking a model for an update: ask, read, check; on problems ask again with the problems quoted; then apply, or leave
//! everything as it is.

use corkboard_core::Refusal;
use corkboard_core::notebook::{Notebook, UnknownIds};

use super::judge::{AnswerVerdict, complaint, judge};
use super::report::{Attempt, AttemptProblem, UpdateOutcome, UpdateReport};
use super::{NotebookPrompt, PromptSources, notebook_prompt};
use crate::context::tokens;
use crate::model::{Message, Model, ModelRequest, StopReason};
use crate::{AgentNotebook, Error, Result};

/// What an update by a model is to be like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateRequest {
    /// What is being worked on, in words.
    pub task: Option<String>,
    /// What happened since the last update, for example the agent's conversation. If it is too long, its end is kept.
    pub transcript: Option<String>,
    /// How many tokens the prompt may have; nothing said: [`Options::context_tokens`](crate::Options::context_tokens).
    pub budget: Option<u64>,
    /// How many tokens an answer may have; nothing said: [`ModelRequest::MAX_TOKENS`].
    pub max_tokens: Option<u64>,
    /// What is done about an answer that is not right.
    pub policy: Reprompt,
    /// Whether the block is applied if it is right.
    pub mode: UpdateMode,
}

/// Ask again, with the problems quoted, at most so many times. If ids that the notebook does not have are all that is wrong
/// with the last answer, they are left out and the rest is applied; with any other problem nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reprompt {
    /// How many times.
    pub max: u32,
}

impl Default for Reprompt {
    fn default() -> Self {
        Self { max: 2 }
    }
}

/// Whether a block that is right is applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpdateMode {
    /// It is.
    #[default]
    Apply,
    /// It is only reported.
    DryRun,
}

impl UpdateRequest {
    /// An update without a word about the task.
    pub fn new() -> Self {
        Self::default()
    }

    /// With what is being worked on.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// With what happened since the last update.
    pub fn transcript(mut self, transcript: impl Into<String>) -> Self {
        self.transcript = Some(transcript.into());
        self
    }

    /// With a prompt of at most so many tokens.
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// With answers of at most so many tokens.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// With another policy.
    pub fn policy(mut self, policy: Reprompt) -> Self {
        self.policy = policy;
        self
    }

    /// Without applying anything.
    pub fn dry_run(mut self) -> Self {
        self.mode = UpdateMode::DryRun;
        self
    }
}

impl From<&str> for UpdateRequest {
    fn from(task: &str) -> Self {
        Self::new().task(task)
    }
}

impl AgentNotebook {
    /// The prompt that asks for an update of the notebook as it is now.
    pub async fn prompt<'a>(
        &self,
        sources: impl Into<PromptSources<'a>>,
        budget: Option<u64>,
    ) -> Result<NotebookPrompt> {
        let (sources, budget) = (sources.into(), budget.unwrap_or(self.memory().options().context_tokens));
        notebook_prompt(&*self.get().await?, sources, budget)
    }

    /// Brings the notebook up to date by a model: asks it, checks its answer, asks again if that is not right, and applies
    /// it, all in one revision. The report says what came of it; a model that fails or talks nonsense is no error here, and
    /// changes nothing. If someone else changes the notebook meanwhile, the model is asked again about what it is then.
    pub async fn update(&self, model: &dyn Model, request: impl Into<UpdateRequest>) -> Result<UpdateReport> {
        let request = request.into();
        let mut report = UpdateReport {
            agent: self.memory().agent_id().to_string(),
            notebook: self.name().to_string(),
            model: model.name().to_owned(),
            task: request.task.clone(),
            outcome: UpdateOutcome::Refused,
            attempts: Vec::new(),
            left_out: Vec::new(),
            skipped: Vec::new(),
            changes: Vec::new(),
            version_before: 0,
            version: None,
            input_tokens: 0,
            output_tokens: 0,
        };
        let mut notebook = self.get().await?;
        let mut ask = self.ask(&notebook, &request, &mut report)?;
        for left in (0..=request.policy.max).rev() {
            report.version_before = notebook.version;
            let prompt_tokens = ask_tokens(&ask);
            let answer = match model.complete(ask.clone()).await {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(%error, notebook = %self.name(), "the model gave no update");
                    report.fail(&error);
                    return Ok(report);
                }
            };
            report.input_tokens += answer.input_tokens.unwrap_or(prompt_tokens);
            report.output_tokens += answer.output_tokens.unwrap_or_else(|| tokens::count(&answer.text));
            let verdict = judge(&answer, self.name(), &notebook, &self.memory().options().limits);
            let problems = verdict.problems.clone();
            report.attempts.push(Attempt { prompt_tokens, answer: answer.text.clone(), stop: answer.stop, problems });
            let is_usable = verdict.is_right() || (left == 0 && verdict.only_unknown_ids);
            if !is_usable {
                if answer.stop == StopReason::Refused {
                    return Ok(report);
                }
                // What it said may be endless; so much of it as it was told itself is enough to see what is meant.
                let said = tokens::beginning(&answer.text, prompt_tokens);
                if !said.trim().is_empty() {
                    ask = ask.message(Message::assistant(said));
                }
                ask = ask.message(Message::user(complaint(&verdict.problems)));
                continue;
            }
            if request.mode == UpdateMode::DryRun {
                self.preview(&verdict, &notebook, &mut report);
                return Ok(report);
            }
            match self.apply(&answer.text).ignore_unknown().if_version(notebook.version).await {
                Ok(applied) => {
                    report.skipped = applied.skipped.iter().map(ToString::to_string).collect();
                    report.changes = applied.changes.changes.iter().map(ToString::to_string).collect();
                    report.version = applied.changed.then_some(applied.rev);
                    report.outcome = if applied.changed { UpdateOutcome::Applied } else { UpdateOutcome::Unchanged };
                    return Ok(report);
                }
                Err(Error::Refused(Refusal::NotebookConflict { .. })) => {
                    let message = "the notebook was changed by someone else while the model answered";
                    if let Some(attempt) = report.attempts.last_mut() {
                        attempt.problems.push(AttemptProblem::whole(message));
                    }
                    notebook = self.get().await?;
                    ask = self.ask(&notebook, &request, &mut report)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    fn ask(&self, notebook: &Notebook, request: &UpdateRequest, report: &mut UpdateReport) -> Result<ModelRequest> {
        let budget = request.budget.unwrap_or(self.memory().options().context_tokens);
        let sources = PromptSources { task: request.task.as_deref(), transcript: request.transcript.as_deref() };
        let NotebookPrompt { instructions, data, left_out, .. } = notebook_prompt(notebook, sources, budget)?;
        report.left_out = left_out;
        let max_tokens = request.max_tokens.unwrap_or(ModelRequest::MAX_TOKENS);
        Ok(ModelRequest::new(data).system(instructions).max_tokens(max_tokens))
    }

    fn preview(&self, verdict: &AnswerVerdict, before: &Notebook, report: &mut UpdateReport) {
        let limits = &self.memory().options().limits;
        let decided = before.decide(self.name(), &verdict.block, UnknownIds::Skip, limits);
        let (update, skipped) = decided.unwrap_or_default();
        let mut after = before.clone();
        after.preview(&update);
        report.skipped = skipped.iter().map(ToString::to_string).collect();
        report.changes = after.since(before).changes.iter().map(ToString::to_string).collect();
        report.outcome = UpdateOutcome::DryRun;
    }
}

fn ask_tokens(ask: &ModelRequest) -> u64 {
    let said: u64 = ask.messages.iter().map(|message| tokens::count(&message.content)).sum();
    ask.system.as_deref().map_or(0, tokens::count) + said
}
