//! The page that a browser shows to a person who is not signed in. It has no scripts and loads nothing from other
//! servers.

use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::HttpError;
use crate::guard::NO_TOKEN;

const HTML: &str = "text/html";

/// The sign-in page for browsers, the problem for other clients.
pub(crate) fn page_or_problem(method: &Method, headers: &HeaderMap, error: HttpError) -> Response {
    if *method != Method::GET || !error.is_unauthenticated() || !prefers_html(headers) {
        return error.into_response();
    }
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (VARY, "accept"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (X_FRAME_OPTIONS, "DENY"),
        // Browsers send a form's `Origin` only if the referrer policy permits it.
        (REFERRER_POLICY, "same-origin"),
    ];
    let mut response = (StatusCode::UNAUTHORIZED, headers, page(error.detail())).into_response();
    response.extensions_mut().insert(error.code());
    response
}

/// Whether `Accept` names HTML and does not prefer JSON.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).into_iter().filter_map(|accept| accept.to_str().ok());
    let (mut html, mut json) = (0.0, 0.0);
    for range in accepted.flat_map(|accept| accept.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0));
        if name.eq_ignore_ascii_case(HTML) {
            html = weight;
        } else if ["application/json", "application/problem+json"].iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            json = weight;
        }
    }
    html > 0.0 && html >= json
}

fn page(why: &str) -> String {
    let why = match why {
        // The page's heading already says this.
        NO_TOKEN => String::new(),
        why => {
            let why = why.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            format!("<p>The server says: {why}.</p>\n")
        }
    };
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in - Corkboard</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1rem; }}
h1 {{ font-size: 1.25rem; }}
code {{ font-family: ui-monospace, monospace; }}
label {{ display: block; margin-bottom: .25rem; }}
input, button {{ font: inherit; padding: .4rem .6rem; }}
input {{ width: 100%; box-sizing: border-box; margin-bottom: .75rem; }}
</style>
</head>
<body>
<main>
<h1>You are not signed in</h1>
{why}<p>Sign in with a link: the one that <code>cork serve</code> printed when it started, if it did, or one that an admin
creates with <code>cork token link</code>. A link works once, within an hour. Or sign in with a token, such as one from
<code>cork token create</code>:</p>
<form method="post" action="/sign-in">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Sign in</button>
</form>
<p>Just signed in? <a href="/">Continue</a>.</p>
</main>
</body>
</html>
"#
    )
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_page_is_sent_only_if_accept_names_html() {
        let asks =
            |accept: &'static str| prefers_html(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]));
        let browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for accept in [browsers, "TEXT/HTML", "application/json;q=0.5, text/html;q=0.9"] {
            assert!(asks(accept), "{accept}");
        }
        for accept in ["*/*", "application/json", "application/json, text/html;q=0.9", "text/html;q=0", "text/*", ""] {
            assert!(!asks(accept), "{accept}");
        }
        assert!(!prefers_html(&HeaderMap::new()));
    }

    #[test]
    fn the_message_is_escaped() {
        assert!(page("<script>&").contains("says: &lt;script&gt;&amp;."));
        assert!(!page(NO_TOKEN).contains("says"));
    }
}
