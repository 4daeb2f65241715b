//! The model clients against a server that works, and one that does not.

use std::time::Duration;

use corkboard::ErrorKind;
use corkboard::model::{
    Message, Model, ModelAnswer, ModelConfig, ModelError, ModelRequest, ModelRetries, Provider, StopReason, TimedOut,
};
use serde_json::json;

use corkboard_testing::model_server::{
    ModelReply, ModelServer, chat_events, cut, ended, endless, message_events, says, short, silent, status, stream,
    stuck, whole,
};

const KEY: &str = "sk-very-secret-0123456789";
const BOTH: [Provider; 2] = [Provider::OpenAi, Provider::Anthropic];

fn config(provider: Provider, server: &ModelServer) -> ModelConfig {
    let mut config = ModelConfig::new(provider, "a-model").url(server.url()).key(KEY);
    config.retries.first_wait = Duration::from_millis(1);
    config
}

fn events(provider: Provider, text: &str) -> Vec<String> {
    match provider {
        Provider::OpenAi => chat_events(text),
        Provider::Anthropic => message_events(text),
    }
}

async fn ask(config: ModelConfig) -> Result<ModelAnswer, ModelError> {
    let model = config.build()?;
    let request = ModelRequest::new("Hello?").system("Be short.").max_tokens(50);
    tokio::time::timeout(Duration::from_secs(60), model.complete(request)).await.unwrap()
}

/// Sends one question. Returns the answer and the number of requests that the server received.
async fn ask_openai(script: Vec<ModelReply>) -> (Result<ModelAnswer, ModelError>, usize) {
    let server = ModelServer::start(script).await;
    let answer = ask(config(Provider::OpenAi, &server)).await;
    (answer, server.seen().len())
}

#[tokio::test]
async fn a_stream_is_put_together() {
    for provider in BOTH {
        let server = ModelServer::start(vec![stream(&events(provider, "Grüße, and a\n  second line. 漢字 👩‍👩‍👧"))]).await;
        let answer = ask(config(provider, &server)).await.unwrap();
        let text = "Grüße, and a\n  second line. 漢字 👩‍👩‍👧".to_owned();
        let expected = ModelAnswer { text, input_tokens: Some(11), output_tokens: Some(7), stop: StopReason::Finished };
        assert_eq!(answer, expected, "{provider}");
    }
}

#[tokio::test]
async fn an_answer_may_come_whole() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4});
    let chat = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "length"}], "usage": usage});
    let blocks = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi."}]);
    let usage = json!({"input_tokens": 3, "output_tokens": 4});
    let message = json!({"content": blocks, "stop_reason": "max_tokens", "usage": usage});
    for (provider, body) in [(Provider::OpenAi, chat), (Provider::Anthropic, message)] {
        let server = ModelServer::start(vec![whole(&body)]).await;
        let answer = ask(config(provider, &server)).await.unwrap();
        let expected =
            ModelAnswer { text: "Hi.".into(), input_tokens: Some(3), output_tokens: Some(4), stop: StopReason::Length };
        assert_eq!(answer, expected, "{provider}");
    }
}

#[tokio::test]
async fn requests_are_as_the_protocols_want_them() {
    for provider in BOTH {
        let server = ModelServer::start(vec![stream(&events(provider, "Hi."))]).await;
        let model = config(provider, &server).build().unwrap();
        let request = ModelRequest::new("One").message(Message::assistant("Two")).message(Message::user("Three"));
        model.complete(request.system("Be short.").max_tokens(50)).await.unwrap();
        let [seen] = &server.seen()[..] else { panic!("one request") };
        let said = json!([
            {"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}, {"role": "user", "content": "Three"}
        ]);
        assert_eq!((&seen.body["model"], &seen.body["stream"]), (&json!("a-model"), &json!(true)));
        assert_eq!(seen.body["max_tokens"], 50);
        match provider {
            Provider::OpenAi => {
                assert_eq!(seen.line, "POST /chat/completions HTTP/1.1");
                assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
                assert_eq!(seen.body["messages"][0], json!({"role": "system", "content": "Be short."}));
                assert_eq!(seen.body["messages"].as_array().unwrap()[1..], said.as_array().unwrap()[..]);
            }
            Provider::Anthropic => {
                assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
                assert_eq!((seen.header("x-api-key"), seen.header("authorization")), (Some(KEY), None));
                assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
                assert_eq!((&seen.body["messages"], &seen.body["system"]), (&said, &json!("Be short.")));
            }
        }
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_again_after_its_retry_delay() {
    let server = ModelServer::start(vec![status("429 Too Many Requests", &["Retry-After: 1"], ""), says("Hi.")]).await;
    assert_eq!(ask(config(Provider::OpenAi, &server)).await.unwrap().text, "Hi.");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1), "the client should wait for the retry delay");
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn a_long_retry_delay_is_not_waited_for() {
    let headers = ["Retry-After: Sun, 06 Nov 1994 09:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT"];
    let body = json!({"error": {"type": "rate_limit", "message": "Slow down."}}).to_string();
    let (answer, asked) = ask_openai(vec![status("429 Too Many Requests", &headers, &body), says("Hi.")]).await;
    let error = answer.unwrap_err();
    let expected = ModelError::Busy {
        status: 429,
        retry_after: Some(Duration::from_secs(3600)),
        message: "rate_limit: Slow down.".into(),
    };
    assert_eq!((&error, asked), (&expected, 1));
    assert_eq!((error.code(), error.kind(), error.is_retryable()), ("model_busy", ErrorKind::Unavailable, true));
}

#[tokio::test]
async fn temporary_errors_are_retried() {
    for line in ["408 Request Timeout", "409 Conflict", "500 Internal Server Error", "529 Overloaded"] {
        let (answer, asked) = ask_openai(vec![status(line, &[], "oops"), says("Hi.")]).await;
        assert_eq!((answer.unwrap().text.as_str(), asked), ("Hi.", 2), "{line}");
    }
    // But not forever.
    let (answer, asked) = ask_openai(vec![status("503 Service Unavailable", &[], "oops")]).await;
    let expected = ModelError::Busy { status: 503, retry_after: None, message: "oops".into() };
    assert_eq!((answer.unwrap_err(), asked), (expected, 4));
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let body =
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}.\nSee\u{1b}[1m there.")}}).to_string();
    for provider in BOTH {
        let server = ModelServer::start(vec![status("401 Unauthorized", &[], &body)]).await;
        let config = config(provider, &server);
        let model = config.clone().build().unwrap();
        let error = model.complete(ModelRequest::new("Hello?")).await.unwrap_err();
        let message = "Incorrect API key provided: [key]. See [1m there.".to_owned();
        assert_eq!(error, ModelError::Denied { status: 401, message });
        assert_eq!((error.kind(), server.seen().len()), (ErrorKind::Denied, 1));
        assert!(!format!("{error} {error:?} {config:?}").contains(KEY));
    }
    for line in ["400 Bad Request", "404 Not Found", "422 Unprocessable"] {
        let (answer, asked) = ask_openai(vec![status(line, &[], &"no ".repeat(1000)), says("Hi.")]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.code(), error.is_retryable(), asked), ("model_rejected", false, 1), "{line}");
        assert!(error.to_string().len() < 600, "{error}");
    }
}

#[tokio::test]
async fn half_an_answer_is_never_used() {
    for provider in BOTH {
        let good = events(provider, "The second answer.");
        let half = &events(provider, "The first answer, which is longer than that.")[..6];
        for broken in [cut(half), ended(half), ended(&[half.concat()[..200].to_owned()])] {
            let server = ModelServer::start(vec![broken.clone(), stream(&good)]).await;
            assert_eq!(ask(config(provider, &server)).await.unwrap().text, "The second answer.", "{provider}");
            assert_eq!(server.seen().len(), 2);

            let server = ModelServer::start(vec![broken]).await;
            let error = ask(config(provider, &server)).await.unwrap_err();
            assert_eq!((error.code(), server.seen().len()), ("model_cut", 4), "{error}");
        }
    }
    // A body that is shorter than announced, by its length or by its content.
    let body = json!({"choices": [{"message": {"content": "Half."}, "finish_reason": "stop"}]});
    let (answer, asked) = ask_openai(vec![short(&body), says("Hi.")]).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("Hi.", 2));
    let (answer, asked) = ask_openai(vec![status("200 OK", &[], "{\"choices\": [{\"mess"), says("Hi.")]).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("Hi.", 2));
}

#[tokio::test]
async fn a_server_that_fails_while_it_answers_is_asked_again() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for provider in BOTH {
        let mut broken = events(provider, "The first answer.")[..4].to_vec();
        broken.push(format!("event: error\ndata: {error}\n\n"));
        let server = ModelServer::start(vec![stream(&broken), stream(&events(provider, "Hi."))]).await;
        assert_eq!(ask(config(provider, &server)).await.unwrap().text, "Hi.");
        let server = ModelServer::start(vec![stream(&broken)]).await;
        let error = ask(config(provider, &server)).await.unwrap_err();
        assert_eq!(error, ModelError::Cut("overloaded_error: Overloaded".into()));
    }
}

#[tokio::test]
async fn every_wait_has_a_timeout() {
    let half = &chat_events("Some words that take a while.")[..3];
    for script in [vec![silent(), says("Hi.")], vec![stuck(half), says("Hi.")]] {
        let server = ModelServer::start(script).await;
        let mut config = config(Provider::OpenAi, &server);
        config.timeouts.idle = Duration::from_millis(300);
        config.timeouts.connect = Duration::from_millis(100);
        assert_eq!(ask(config).await.unwrap().text, "Hi.");
        assert_eq!(server.seen().len(), 2);
    }
    let server = ModelServer::start(vec![silent()]).await;
    let mut timed = config(Provider::OpenAi, &server);
    timed.timeouts.idle = Duration::from_millis(50);
    timed.retries = ModelRetries::NONE;
    let error = ask(timed).await.unwrap_err();
    assert_eq!(error, ModelError::TimedOut { what: TimedOut::Idle, after: Duration::from_millis(50) });
    // An endless stream of parts is not an answer.
    let server = ModelServer::start(vec![endless(": still here\n\n")]).await;
    let mut timed = config(Provider::OpenAi, &server);
    timed.timeouts.total = Duration::from_millis(300);
    let error = ask(timed).await.unwrap_err();
    assert_eq!(error, ModelError::TimedOut { what: TimedOut::Total, after: Duration::from_millis(300) });
    assert_eq!(error.code(), "model_timeout");
}

#[tokio::test]
async fn an_answer_has_a_maximum_size() {
    let event = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "and so on "}}]}));
    let long = json!({"choices": [{"message": {"content": "x".repeat(200_000)}, "finish_reason": "stop"}]});
    for reply in [endless(&event), endless("x"), endless("data: x\n"), whole(&long), says(&"x".repeat(100_001))] {
        let server = ModelServer::start(vec![reply]).await;
        let mut config = config(Provider::OpenAi, &server);
        config.max_answer_bytes = 100_000;
        let error = ask(config).await.unwrap_err();
        assert_eq!((error.code(), server.seen().len()), ("model_too_long", 1), "{error}");
    }
}

#[tokio::test]
async fn invalid_answers_are_refused() {
    let html = "<html>Welcome to your proxy</html>";
    for reply in [
        status("200 OK", &["Content-Type: text/html"], html),
        status("200 OK", &["Content-Type: application/json"], "{}"),
        status("200 OK", &["Content-Type: application/json"], ""),
        whole(&json!({"choices": [{"message": {"content": 7}}]})),
        whole(&json!({"choices": []})),
        stream(&["data: {not json}\n\n".into()]),
    ] {
        let (answer, asked) = ask_openai(vec![reply.clone()]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.code(), asked), ("model_malformed", 1), "{error} {reply:?}");
    }
}

#[tokio::test]
async fn the_key_does_not_follow_a_redirect() {
    let elsewhere = ModelServer::start(vec![says("Give me your key.")]).await;
    for line in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("Location: {}/chat/completions", elsewhere.url());
        let (answer, asked) = ask_openai(vec![status(line, &[&location], "")]).await;
        assert_eq!((answer.unwrap_err().code(), asked), ("model_redirected", 1));
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_key_is_not_sent_unencrypted() {
    let config = ModelConfig::new(Provider::OpenAi, "m").url("http://models.example/v1");
    assert!(config.clone().build().is_ok(), "without a key, plain HTTP is allowed");
    let error = config.clone().key(KEY).build().err().unwrap();
    assert_eq!(error.code(), "model_config");
    let mut allowed = config.key(KEY);
    allowed.allow_plain_http = true;
    assert!(allowed.build().is_ok());
    let error = ModelConfig::new(Provider::OpenAi, "m").url("http://127.0.0.1:9").key("line\nend").build().unwrap();
    let error = error.complete(ModelRequest::new("Hello?")).await.unwrap_err();
    assert_eq!(error.code(), "model_config");
}

#[tokio::test]
async fn nobody_listens() {
    let url = ModelServer::start(Vec::new()).await.url();
    tokio::task::yield_now().await;
    let mut config = ModelConfig::new(Provider::Anthropic, "m").url(url).key(KEY);
    config.retries.first_wait = Duration::from_millis(1);
    let error = ask(config).await.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable(_) | ModelError::Cut(_)), "{error:?}");
    assert!(error.is_retryable() && !error.to_string().contains(KEY));
}

#[tokio::test]
async fn a_refusal_by_the_model_is_distinguished() {
    let mut events = chat_events("");
    events[1] = format!("data: {}\n\n", json!({"choices": [{"delta": {"refusal": "I cannot."}}]}));
    events.insert(2, format!("data: {}\n\n", json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})));
    let (answer, _) = ask_openai(vec![stream(&events)]).await;
    assert_eq!(answer.unwrap().stop, StopReason::Refused);
}
