//! A model updates a notebook: with good answers, bad answers and none at all.

use std::sync::Arc;
use std::time::Duration;

use corkboard::model::{Model, ModelAnswer, ModelConfig, ModelFuture, ModelRequest, Provider, StopReason};
use corkboard::prompt::{Reprompt, UpdateOutcome, UpdateReport, UpdateRequest};
use corkboard::{AgentNotebook, Corkboard, ErrorKind};

use corkboard_testing::model_server::{
    ModelReply, ModelServer, chat_events, cut, message_events, says, silent, status, stream,
};

const GOOD: &str = "\
Here is the block:
```
CURRENT_PROGRESS:
  Completed:
    - Read the code
  In Progress:
    - Fix the parser

KEY_LEARNINGS:
  ADD:
    - because it bit us: Tabs count as two
  ARCHIVE:
    - KL-1 because it is wrong

VERBATIM_CONTEXT:
  ADD:
    - because the fix needs it: src/parse.rs =>
      fn parse() {
          todo()
      }
```
";
const BAD: &str =
    "CURRENT_PROGRESS:\n  Completed:\n    - Read the code\nKEY_LEARNINGS:\n  ADD:\n    - Tabs count as two\n";
const UNKNOWN: &str = "CURRENT_PROGRESS:\n  In Progress:\n    - Go on\nKEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because old\n    - KL-9 because old\n";

async fn notebook() -> AgentNotebook {
    let notebook = Corkboard::open("memory:").await.unwrap().agent("a").unwrap().notebook("main").unwrap();
    let first = "CURRENT_PROGRESS:\n  In Progress:\n    - Read the code\nKEY_LEARNINGS:\n  ADD:\n    - because so: Tabs are four\n";
    notebook.apply(first).await.unwrap();
    notebook
}

fn model(server: &ModelServer, provider: Provider) -> Arc<dyn Model> {
    let mut config = ModelConfig::new(provider, "m").url(server.url());
    config.retries.first_wait = Duration::from_millis(1);
    config.retries.max = 1;
    config.timeouts.idle = Duration::from_millis(500);
    config.build().unwrap()
}

async fn update(notebook: &AgentNotebook, script: Vec<ModelReply>) -> (UpdateReport, ModelServer) {
    let server = ModelServer::start(script).await;
    let report = notebook.update(&*model(&server, Provider::OpenAi), "Fix the parser").await.unwrap();
    // The report can be serialized and read again.
    let kept: UpdateReport = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(kept, report);
    (report, server)
}

fn problems(report: &UpdateReport, attempt: usize) -> Vec<String> {
    report.attempts[attempt].problems.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_good_answer_is_applied() {
    for (provider, reply) in [(Provider::OpenAi, says(GOOD)), (Provider::Anthropic, stream(&message_events(GOOD)))] {
        let notebook = notebook().await;
        let server = ModelServer::start(vec![reply]).await;
        let report = notebook.update(&*model(&server, provider), "Fix the parser").await.unwrap();
        assert_eq!((&report.outcome, report.attempts.len(), report.is_done()), (&UpdateOutcome::Applied, 1, true));
        assert_eq!((report.input_tokens, report.output_tokens, report.version), (11, 7, Some(2)));
        let changes = report.changes.join("\n");
        for word in ["KL-2", "Tabs count as two", "KL-1", "it is wrong", "VC-1", "src/parse.rs", "Fix the parser"] {
            assert!(changes.contains(word), "{word}: {changes}");
        }
        let now = notebook.get().await.unwrap();
        assert_eq!(&*now.snippets[0].text, "fn parse() {\n    todo()\n}");
        assert_eq!(now.learnings.iter().map(|one| one.id.to_string()).collect::<Vec<_>>(), ["KL-2"]);
        // The prompt contained the notebook and the task.
        let seen = server.seen();
        let told = seen[0].last_message();
        assert!(
            told.contains("- KL-1: Tabs are four\n") && told.contains("<task>\n  Fix the parser\n</task>"),
            "{told}"
        );
        assert!(told.contains("  In Progress:\n    - Read the code\n"), "{told}");
    }
}

#[tokio::test]
async fn a_bad_answer_is_followed_by_its_problems() {
    let notebook = notebook().await;
    let (report, server) = update(&notebook, vec![says(BAD), says(GOOD)]).await;
    assert_eq!((&report.outcome, report.attempts.len(), report.output_tokens), (&UpdateOutcome::Applied, 2, 14));
    assert_eq!((problems(&report, 0).len(), problems(&report, 1).len()), (2, 0), "{:?}", report.attempts[0].problems);
    assert!(report.attempts[1].prompt_tokens > report.attempts[0].prompt_tokens);
    let seen = server.seen();
    let messages = seen[1].body["messages"].as_array().unwrap();
    assert_eq!(
        messages.iter().map(|one| one["role"].as_str().unwrap()).collect::<Vec<_>>(),
        ["system", "user", "assistant", "user"]
    );
    assert_eq!(messages[2]["content"], BAD);
    let complaint = seen[1].last_message();
    for problem in problems(&report, 0) {
        assert!(complaint.contains(&problem), "{problem}: {complaint}");
    }
    assert!(complaint.contains("your line:     - Tabs count as two\n"), "{complaint}");
}

#[tokio::test]
async fn a_model_that_never_answers_correctly_changes_nothing() {
    let notebook = notebook().await;
    let before = notebook.get().await.unwrap();
    let (report, server) = update(&notebook, vec![says(BAD), says("I'd rather not."), says(BAD)]).await;
    assert_eq!((&report.outcome, report.attempts.len(), server.seen().len()), (&UpdateOutcome::Refused, 3, 3));
    assert_eq!((report.is_done(), report.version), (false, None));
    assert_eq!(report.failure(), Some(("update_refused", ErrorKind::Invalid)));
    assert_eq!(report.last_answer(), Some(BAD));
    assert_eq!(notebook.get().await.unwrap(), before);
}

#[tokio::test]
async fn unknown_ids_are_skipped_in_the_end_and_nothing_else_is() {
    let notebook = notebook().await;
    let (report, server) = update(&notebook, vec![says(UNKNOWN)]).await;
    assert_eq!((&report.outcome, report.attempts.len()), (&UpdateOutcome::Applied, 3));
    assert_eq!(report.skipped, ["KL-9"]);
    assert!(server.seen()[1].last_message().contains("there is no KL-9 to archive; there are KL-1"));
    let now = notebook.get().await.unwrap();
    assert!(now.learnings.is_empty() && &*now.progress.in_progress[0] == "Go on");
    // With another problem next to it, nothing is applied.
    let both = format!("{UNKNOWN}  ADD:\n    - no reason here\n");
    let (report, _server) = update(&notebook, vec![says(&both)]).await;
    assert_eq!(report.outcome, UpdateOutcome::Refused);
    assert_eq!(notebook.get().await.unwrap(), now);
}

#[tokio::test]
async fn the_number_of_attempts_can_be_set() {
    let notebook = notebook().await;
    let server = ModelServer::start(vec![says(UNKNOWN)]).await;
    let request = UpdateRequest::from("x").policy(Reprompt { max: 0 });
    let report = notebook.update(&*model(&server, Provider::OpenAi), request).await.unwrap();
    assert_eq!((report.outcome, report.attempts.len(), server.seen().len()), (UpdateOutcome::Applied, 1, 1));
}

#[tokio::test]
async fn a_model_that_does_not_answer_changes_nothing() {
    let half = &chat_events(GOOD)[..20];
    for (script, code) in [
        (vec![silent()], "model_timeout"),
        (vec![status("429 Too Many Requests", &["Retry-After: 999"], "")], "model_busy"),
        (vec![status("500 Oops", &[], "")], "model_busy"),
        (vec![status("401 Unauthorized", &[], "")], "model_denied"),
        (vec![cut(half)], "model_cut"),
        // The report counts the tokens of the first attempt, too.
        (vec![says(BAD), cut(half)], "model_cut"),
    ] {
        let notebook = notebook().await;
        let before = notebook.get().await.unwrap();
        let (report, server) = update(&notebook, script).await;
        let UpdateOutcome::ModelFailed { code: found, .. } = &report.outcome else { panic!("{report:?}") };
        assert_eq!((found.as_str(), notebook.get().await.unwrap()), (code, before));
        assert_eq!(report.failure().unwrap().0, code);
        assert_eq!(report.output_tokens, 7 * report.attempts.len() as u64);
        assert!(server.seen().len() <= 3);
    }
}

#[tokio::test]
async fn temporary_errors_are_retried() {
    let half = &chat_events(GOOD)[..20];
    for first in [cut(half), status("429 Too Many Requests", &["Retry-After: 0"], ""), silent()] {
        let notebook = notebook().await;
        let (report, server) = update(&notebook, vec![first, says(GOOD)]).await;
        assert_eq!((&report.outcome, report.attempts.len(), server.seen().len()), (&UpdateOutcome::Applied, 1, 2));
    }
}

#[tokio::test]
async fn a_dry_run_only_reports() {
    let notebook = notebook().await;
    let before = notebook.get().await.unwrap();
    let server = ModelServer::start(vec![says(GOOD)]).await;
    let request = UpdateRequest::from("Fix the parser").dry_run();
    let report = notebook.update(&*model(&server, Provider::OpenAi), request).await.unwrap();
    assert_eq!((&report.outcome, report.version), (&UpdateOutcome::DryRun, None));
    assert_eq!(notebook.get().await.unwrap(), before);
    // Applying the answer by hand gives the reported changes.
    let applied = notebook.apply(report.last_answer().unwrap()).if_version(report.version_before).await.unwrap();
    assert_eq!(applied.changes.changes.iter().map(ToString::to_string).collect::<Vec<_>>(), report.changes);
}

#[tokio::test]
async fn the_same_answer_again_changes_nothing() {
    let notebook = notebook().await;
    let same = "CURRENT_PROGRESS:\n  In Progress:\n    - Read the code\nKEY_LEARNINGS:\nVERBATIM_CONTEXT:\n";
    let (report, _server) = update(&notebook, vec![says(same)]).await;
    assert_eq!((&report.outcome, report.version, report.is_done()), (&UpdateOutcome::Unchanged, None, true));
    assert_eq!(notebook.get().await.unwrap().version, 1);
}

/// A model client that changes the notebook before it gives its prepared answer.
struct Meddler {
    notebook: AgentNotebook,
    /// Number of times it changes the notebook.
    times: std::sync::atomic::AtomicI32,
    stop: StopReason,
}

impl Model for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn complete(&self, request: ModelRequest) -> ModelFuture<'_> {
        Box::pin(async move {
            let left = self.times.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            if left > 0 {
                let other = format!("CURRENT_PROGRESS:\n  In Progress:\n    - Something else {left}\n");
                self.notebook.apply(&other).await.unwrap();
            }
            let told = &request.messages.last().unwrap().content;
            let seen = told.lines().find(|line| line.contains("Something else")).unwrap_or("    - nothing").trim();
            let text = format!("CURRENT_PROGRESS:\n  Completed:\n    {seen}\n  In Progress:\n    - Go on\n");
            Ok(ModelAnswer { stop: self.stop, ..ModelAnswer::new(text) })
        })
    }
}

#[tokio::test]
async fn a_concurrent_change_is_not_overwritten_unseen() {
    let meddler =
        |notebook: &AgentNotebook, times| Meddler { notebook: notebook.clone(), times, stop: StopReason::Finished };
    let one = notebook().await;
    let report = one.update(&meddler(&one, 1.into()), "x").await.unwrap();
    assert_eq!((&report.outcome, report.attempts.len(), report.version_before), (&UpdateOutcome::Applied, 2, 2));
    assert_eq!(problems(&report, 0), ["the notebook was changed by someone else while the model answered"]);
    assert_eq!(&*one.get().await.unwrap().progress.completed[0], "Something else 1");
    assert!(
        report.input_tokens > 0 && report.output_tokens > 0,
        "tokens are estimated if the model does not report them"
    );

    let other = notebook().await;
    let report = other.update(&meddler(&other, 99.into()), "x").await.unwrap();
    assert_eq!((&report.outcome, report.attempts.len()), (&UpdateOutcome::Refused, 3));
    assert_eq!(&*other.get().await.unwrap().progress.in_progress[0], "Something else 97");
}

#[tokio::test]
async fn an_answer_that_ran_out_of_tokens_is_not_applied() {
    for (stop, attempts) in [(StopReason::Length, 3), (StopReason::Refused, 1)] {
        let notebook = notebook().await;
        let model = Meddler { notebook: notebook.clone(), times: 0.into(), stop };
        let report = notebook.update(&model, "x").await.unwrap();
        assert_eq!((&report.outcome, report.attempts.len()), (&UpdateOutcome::Refused, attempts));
        assert_eq!(notebook.get().await.unwrap().version, 1);
    }
}
