//! `rediss://`: a server whose certificate comes from a private authority.

use corkboard::store::{Store, StoreError};
use corkboard::{Corkboard, Watched};
use corkboard_testing::servers::{TestServer, free_port};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::redis_store::support::{in_time, open, refused};

/// A server with TLS on a second port, and the certificate of its authority.
fn encrypted() -> (TestServer, u16, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (root, own) = (file("ca.pem", authority.pem()), file("server.pem", certificate.pem()));
    let key = file("server.key", key.serialize_pem());
    let port = free_port();
    let text = port.to_string();
    let tls = ["--tls-port", &text, "--tls-cert-file", &own, "--tls-key-file", &key, "--tls-ca-cert-file", &root];
    let server = TestServer::redis_with(
        &[&tls, ["--tls-auth-clients", "no", "--appendonly", "yes", "--appendfsync", "always"].as_slice()].concat(),
    );
    (server, port, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encrypted_connections_verify_the_server() {
    let (_server, port, folder) = encrypted();
    let root = folder.path().join("ca.pem").display().to_string();
    let trusted = format!("rediss://localhost:{port}/?ca={root}");
    let (one, two) = (Corkboard::open(&trusted).await.unwrap(), Corkboard::open(&trusted).await.unwrap());
    let mut watch = one.agent("a").unwrap().watch(0).await.unwrap();
    two.agent("a").unwrap().working().set("key", "value").await.unwrap();
    assert!(matches!(in_time(watch.next()).await.unwrap(), Watched::Revision { rev: 1, .. }));
    let details = one.store_info().details;
    assert!(details.contains(&("tls", "rustls".into())), "{details:?}");

    let unchecked = open(&format!("rediss://localhost:{port}/#insecure")).await;
    assert!(unchecked.info().details.iter().any(|(_, value)| value.contains("not checked")));
    for stranger in [format!("rediss://localhost:{port}/"), format!("rediss://127.0.0.1:{port}/?ca={root}")] {
        let error = refused(&stranger).await;
        assert!(matches!(&error, StoreError::Url { reason, .. } if reason.contains("certificate")), "{error}");
    }
    let error = refused(&format!("redis://localhost:{port}/")).await;
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}
