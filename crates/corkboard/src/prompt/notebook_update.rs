//! Updates a notebook with a model: ask, check the answer, ask again with the problems quoted, then apply the answer or
//! change nothing.

use corkboard_core::Refusal;
use corkboard_core::notebook::{Notebook, UnknownIds};

use super::judge::{AnswerVerdict, complaint, judge};
use super::report::{Attempt, AttemptProblem, UpdateOutcome, UpdateReport};
use super::{NotebookPrompt, PromptSources, notebook_prompt};
use crate::context::tokens;
use crate::model::{Message, Model, ModelRequest, StopReason};
use crate::{AgentNotebook, Error, Result};

/// Options of an update by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateRequest {
    /// Description of the current task.
    pub task: Option<String>,
    /// What happened since the last update, such as the agent's conversation. If it is too long, its end is kept.
    pub transcript: Option<String>,
    /// Maximum tokens of the prompt; by default [`Options::context_tokens`](crate::Options::context_tokens).
    pub budget: Option<u64>,
    /// Maximum tokens of an answer; by default [`ModelRequest::MAX_TOKENS`].
    pub max_tokens: Option<u64>,
    /// How to handle an invalid answer.
    pub policy: Reprompt,
    /// Whether to apply a valid block.
    pub mode: UpdateMode,
}

/// How often to ask again after an invalid answer, with its problems quoted. If unknown IDs are the only problem of the
/// last answer, they are skipped and the rest is applied. After any other problem nothing is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reprompt {
    /// Maximum number of further attempts.
    pub max: u32,
}

impl Default for Reprompt {
    fn default() -> Self {
        Self { max: 2 }
    }
}

/// Whether to apply a valid block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpdateMode {
    /// Change the notebook.
    #[default]
    Apply,
    /// Report what would change, and change nothing.
    DryRun,
}

impl UpdateRequest {
    /// A request without a task.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the description of the current task.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// Sets what happened since the last update.
    pub fn transcript(mut self, transcript: impl Into<String>) -> Self {
        self.transcript = Some(transcript.into());
        self
    }

    /// Sets the maximum tokens of the prompt.
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Sets the maximum tokens of an answer.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets how to handle an invalid answer.
    pub fn policy(mut self, policy: Reprompt) -> Self {
        self.policy = policy;
        self
    }

    /// Only reports the changes, and applies nothing.
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
    /// Composes the prompt that asks for an update of the current notebook.
    pub async fn prompt<'a>(
        &self,
        sources: impl Into<PromptSources<'a>>,
        budget: Option<u64>,
    ) -> Result<NotebookPrompt> {
        let (sources, budget) = (sources.into(), budget.unwrap_or(self.memory().options().context_tokens));
        notebook_prompt(&*self.get().await?, sources, budget)
    }

    /// Updates the notebook with a model: asks it, checks the answer, asks again if the answer is invalid, and applies
    /// a valid one in one revision.
    ///
    /// The report has the result. A model that fails or gives invalid answers changes nothing, and is not an `Err`. If
    /// someone else changes the notebook meanwhile, the model is asked again about the changed notebook.
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
                    tracing::warn!(%error, notebook = %self.name(), "the model did not answer");
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
                // An answer can be endless. As many tokens of it as the prompt has are enough for the model to see its
                // mistake.
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
