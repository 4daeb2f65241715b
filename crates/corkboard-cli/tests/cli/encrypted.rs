//! Servers with TLS: error messages for connection problems, and the certificate of the documentation.

use std::path::Path;

use crate::sandbox_server::{ADMIN, SandboxServer};
use crate::support::{CORK, Ran, Sandbox, run};

/// Runs a command through a server and trusts the certificates of one file.
fn through(sandbox: &Sandbox, url: &str, trusted: &str, arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(CORK);
    command.env_remove("CORK_STORE").env("CORK_URL", url).env("CORK_TOKEN", ADMIN).env("SSL_CERT_FILE", trusted);
    command.args(arguments);
    run(command, b"")
}

/// Creates a certificate and its key with the documentation's command, after some replacements.
fn certificate(sandbox: &Sandbox, name: &str, replaced: &[(&str, &str)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
    let text = std::fs::read_to_string(path).unwrap();
    let from = text.find("openssl req -x509 -newkey").expect("docs/http.md should contain the command");
    let (cert, key) = (format!("{name}.pem"), format!("{name}-key.pem"));
    let mut line = text[from..].split("\nCORK_TOKEN").next().unwrap().to_owned();
    for (old, new) in [("cert.pem", cert.as_str()), ("key.pem", &key)].iter().chain(replaced) {
        assert!(line.contains(old), "{old} in {line}");
        line = line.replace(old, new);
    }
    let mut openssl = sandbox.command("bash");
    openssl.args(["-c", &line]);
    let ran = run(openssl, b"");
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
}

fn serving(sandbox: &Sandbox, name: &str) -> SandboxServer {
    let (cert, key) = (format!("{name}.pem"), format!("{name}-key.pem"));
    SandboxServer::start(sandbox, &["--tls-cert", &cert, "--tls-key", &key])
}

#[test]
fn the_documentations_certificate_is_trusted_and_others_are_rejected() {
    let sandbox = Sandbox::local();
    certificate(&sandbox, "good", &[]);
    certificate(&sandbox, "signing", &[("CA:FALSE", "CA:TRUE")]);
    certificate(&sandbox, "elsewhere", &[("DNS:localhost,IP:127.0.0.1", "DNS:memory.example.org")]);
    let good = serving(&sandbox, "good");
    assert!(good.url.starts_with("https://127.0.0.1:"), "{}", good.url);
    for arguments in [&["memory", "set", "a", "1"][..], &["memory", "get", "a"], &["doctor"], &["doctor", "--quick"]] {
        let ran = through(&sandbox, &good.url, "good.pem", arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?} {ran:?}");
    }
    let others = [
        (
            &good,
            "elsewhere.pem",
            "its certificate is not signed by an authority that this machine trusts",
            "hint: to trust its certificate, name it in SSL_CERT_FILE",
        ),
        (
            &serving(&sandbox, "signing"),
            "signing.pem",
            "its certificate is a CA certificate (CA:TRUE)",
            "hint: create a server certificate (CA:FALSE)",
        ),
        (
            &serving(&sandbox, "elsewhere"),
            "elsewhere.pem",
            "its certificate is for other names (subjectAltName)",
            "hint: use a name that the certificate lists",
        ),
    ];
    for (server, trusted, why, hint) in others {
        let ran = through(&sandbox, &server.url, trusted, &["memory", "list"]);
        assert_eq!(ran.code, 7, "{ran:?}");
        assert!(ran.stderr.contains(&format!("error: the server at {} is not available: ", server.url)), "{ran:?}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains(hint), "{why}: {ran:?}");
    }
}

/// Like a browser that uses the server's name: follows the printed link to the page, then continues with the cookie.
#[test]
fn the_link_of_a_server_with_a_name_signs_in_clients_that_trust_its_certificate() {
    let sandbox = Sandbox::local();
    certificate(&sandbox, "named", &[("DNS:localhost,IP:127.0.0.1", "DNS:memory.example.org")]);
    let (cert, key) = (["--tls-cert", "named.pem"], ["--tls-key", "named-key.pem"]);
    let arguments = [&cert[..], &key, &["--host", "memory.example.org"]].concat();
    // Without an admin token, the server prints a link.
    let server = SandboxServer::with(&sandbox, &arguments, &[("CORK_TOKEN", "")]);
    let link = server.sign_in.clone().unwrap();
    assert!(link.starts_with("https://memory.example.org:"), "{link}");
    let found = format!("{}:127.0.0.1", server.address());
    let curl = |arguments: &[&str]| {
        let mut curl = sandbox.command("curl");
        curl.args(["--silent", "--show-error", "--noproxy", "*", "--cacert", "named.pem", "--resolve", &found]);
        curl.args(["--cookie-jar", "cookies", "--cookie", "cookies", "--write-out", "\n%{http_code} %{url_effective}"]);
        curl.args(arguments);
        run(curl, b"")
    };
    let url = &server.url;
    let stranger = curl(&[&format!("{url}/v1/me")]);
    assert!(stranger.stdout.contains("\n401 "), "{stranger:?}");
    let page = curl(&["--location", &link]);
    assert!(page.stdout.ends_with(&format!("\n200 {url}/docs/")), "{page:?}");
    let me = curl(&[&format!("{url}/v1/me")]);
    assert!(me.stdout.starts_with("{\"principal\":\"admin\"") && me.stdout.contains("\n200 "), "{me:?}");
    let kept = std::fs::read_to_string(sandbox.path().join("cookies")).unwrap();
    assert!(kept.contains("#HttpOnly_memory.example.org") && kept.contains("\t__Host-"), "{kept}");
    // A client that does not trust the certificate is not signed in and does not use up the link.
    let mut untrusting = sandbox.command("curl");
    untrusting.args(["--silent", "--noproxy", "*", "--resolve", &found, url]);
    let untrusting = run(untrusting, b"");
    assert_eq!((untrusting.code, untrusting.stdout.as_str()), (60, ""), "{untrusting:?}");
    std::fs::remove_file(sandbox.path().join("cookies")).unwrap();
    let again = curl(&[&link]);
    assert!(again.stdout.contains("\n401 "), "{again:?}");
}

/// A command that only reads must not report an unknown outcome.
#[test]
fn the_wrong_scheme_is_reported() {
    let sandbox = Sandbox::local();
    certificate(&sandbox, "good", &[]);
    let (encrypted, plain) = (serving(&sandbox, "good"), SandboxServer::start(&sandbox, &[]));
    let http = encrypted.url.replace("https://", "http://");
    let https = plain.url.replace("http://", "https://");
    for (url, why, hint) in
        [(&http, "the server does not speak HTTP", "use https://"), (&https, "it does not speak TLS", "use http://")]
    {
        for arguments in [&["memory", "list"][..], &["memory", "set", "a", "1"], &["doctor"], &["doctor", "--quick"]] {
            let ran = through(&sandbox, url, "good.pem", arguments);
            assert_eq!(ran.code, 7, "{arguments:?} {ran:?}");
            assert!((ran.stdout + &ran.stderr).contains(why) && ran.stderr.contains(hint), "{arguments:?}");
        }
    }
}

#[test]
fn a_read_from_a_server_that_hangs_up_has_no_unknown_outcome() {
    let sandbox = Sandbox::local();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Reads every request and closes the connection without an answer.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = std::io::Read::read(&mut stream.unwrap(), &mut [0; 1024]);
        }
    });
    for arguments in [&["memory", "list"][..], &["doctor"], &["doctor", "--quick"]] {
        let ran = through(&sandbox, &url, "", arguments);
        assert_eq!(ran.code, 7, "{arguments:?} {ran:?}");
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains("is not available") && !said.contains("unknown"), "{arguments:?} {said}");
        assert!(said.contains("hint: nothing was written; check that `cork serve` is running there"), "{said}");
    }
}

#[test]
fn mismatched_certificate_files_are_reported() {
    let sandbox = Sandbox::local();
    certificate(&sandbox, "one", &[]);
    certificate(&sandbox, "two", &[]);
    std::fs::write(sandbox.path().join("empty.pem"), "").unwrap();
    for (cert, key, said) in [
        ("one-key.pem", "one.pem", "one-key.pem: it contains a key but no certificate"),
        ("one.pem", "one.pem", "one.pem: it contains no unencrypted key"),
        ("one.pem", "two-key.pem", "two-key.pem: this is not the key of the certificate in one.pem"),
        ("empty.pem", "one-key.pem", "empty.pem: it contains no certificate"),
        ("missing.pem", "one-key.pem", "missing.pem: "),
    ] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key];
        let error = sandbox.fails(&arguments, 2, said);
        assert_eq!(error["code"], "tls");
    }
}
