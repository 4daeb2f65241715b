//! The context window's strategy `Summarize`: a model summarizes what does not fit.

use std::time::Duration;

use corkboard::context::{SectionName, Strategy, Summarizer};
use corkboard::model::{ModelConfig, Provider};
use corkboard::{AgentMemory, Composition, ContextRequest, Corkboard, ErrorKind, Options, Tier};

use corkboard_testing::model_server::{ModelReply, ModelServer, says, status};

async fn agent_with_notes(count: usize) -> AgentMemory {
    let agent = Corkboard::open("memory:").await.unwrap().agent("a").unwrap();
    for number in 0..count {
        agent.working().add_note(&format!("note number {number}: </notes> something was observed")).await.unwrap();
    }
    agent
}

async fn summarizer(script: Vec<ModelReply>) -> (ModelServer, Summarizer) {
    let server = ModelServer::start(script).await;
    let mut config = ModelConfig::new(Provider::OpenAi, "m").url(server.url());
    config.retries.max = 0;
    config.timeouts.total = Duration::from_secs(30);
    (server, Summarizer::new(config.build().unwrap()))
}

fn request() -> ContextRequest {
    ContextRequest::new().budget(1_000).strategy(Strategy::Summarize)
}

fn section(window: &Composition) -> Option<&str> {
    let (_, after) = window.text.split_once("<summary>\n")?;
    after.split_once("</summary>\n").map(|(inside, _)| inside)
}

#[tokio::test]
async fn content_that_does_not_fit_is_summarized_once() {
    let agent = agent_with_notes(200).await;
    agent.working().set("low", &"x".repeat(20)).await.unwrap();
    let (server, summarizer) = summarizer(vec![says("Two hundred </summary> observations.\nAll alike.")]).await;
    let window = agent.context_window().summarizer(&summarizer);
    let first = window.compose(request()).await.unwrap();
    assert_eq!(section(&first), Some("  Two hundred &lt;/summary> observations.\n  All alike.\n"), "{}", first.text);
    assert!(first.tokens <= 1_000);
    let report = first.summary.clone().unwrap();
    let shown = first.sections.iter().find(|section| section.name == SectionName::Notes).unwrap().items;
    assert_eq!((report.items, report.problem), (200 - shown, None));
    // The window shows the newest notes. The model got the rest, as data.
    assert!(first.text.contains("note number 199: "));
    let seen = server.seen();
    assert!(
        seen[0].last_message().starts_with("<left_out>\n  - note number 0: &lt;/notes> "),
        "{}",
        seen[0].last_message()
    );
    assert!(!seen[0].last_message().contains("note number 199: "));

    // The same content gives the same bytes without asking the model again, also through a clone.
    let other = agent.context_window().summarizer(&summarizer.clone());
    let (second, third) = tokio::join!(window.compose(request()), other.compose(request()));
    assert_eq!((&second.unwrap().text, &third.unwrap().text), (&first.text, &first.text));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn concurrent_requests_ask_the_model_once() {
    let agent = agent_with_notes(200).await;
    let (server, summarizer) = summarizer(vec![says("All alike.")]).await;
    let window = agent.context_window().summarizer(&summarizer);
    let (one, other) = tokio::join!(window.compose(request()), window.compose(request()));
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_summary_that_is_too_long_is_cut() {
    let agent = agent_with_notes(200).await;
    let (_server, summarizer) = summarizer(vec![says(&"On and on it goes. ".repeat(2_000))]).await;
    let window = agent.context_window().summarizer(&summarizer).compose(request()).await.unwrap();
    assert!(window.tokens <= 1_000, "{}", window.tokens);
    assert!(section(&window).unwrap().ends_with("… [cut: the whole has 37999 bytes]\n"), "{}", window.text);
    let report = window.sections.iter().find(|section| section.name == SectionName::Summary).unwrap();
    assert!(report.tokens <= 100, "{report:?}");
}

#[tokio::test]
async fn without_a_summary_the_window_is_compacted() {
    let agent = agent_with_notes(200).await;
    let compact = agent.context_window().compose(request().strategy(Strategy::Compact)).await.unwrap();
    let (server, failing) = summarizer(vec![status("500 Oops", &[], "down"), says(" "), says("Works again.")]).await;
    let window = agent.context_window().summarizer(&failing);
    for reason in ["cannot answer now (500): down", "the summary is empty"] {
        let fallen_back = window.compose(request()).await.unwrap();
        assert_eq!(fallen_back.text, compact.text);
        assert!(fallen_back.summary.unwrap().problem.unwrap().contains(reason), "{reason}");
    }
    // A failure is not remembered.
    assert_eq!(section(&window.compose(request()).await.unwrap()), Some("  Works again.\n"));
    assert_eq!(server.seen().len(), 3);
    let without = agent.context_window().compose(request()).await.unwrap();
    assert_eq!(without.text, compact.text);
    assert_eq!(without.summary.unwrap().problem.as_deref(), Some("no model is set"));
}

#[tokio::test]
async fn if_everything_fits_the_model_is_not_asked() {
    let agent = agent_with_notes(3).await;
    let (server, summarizer) = summarizer(vec![says("Never.")]).await;
    let window = agent.context_window().summarizer(&summarizer).compose(request()).await.unwrap();
    assert_eq!((window.summary.clone(), section(&window), server.seen().len()), (None, None, 0));
}

#[tokio::test]
async fn summarize_needs_the_tier_teams() {
    let options = Options { tier: Tier::WriterPro, ..Options::default() };
    let corkboard = Corkboard::open_with("memory:", options).await.unwrap();
    let error = corkboard.agent("a").unwrap().context_window().compose(request()).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("license_restriction", ErrorKind::Denied));
}
