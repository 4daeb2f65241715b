//! Who may connect, and that passwords are never shown.

use std::path::{Path, PathBuf};
use std::process::Command;

use corkboard::ErrorKind;
use corkboard_testing::PostgresSchema;
use corkboard_testing::servers::TestServer;

use super::*;

async fn opening(url: &str) -> Result<Arc<PostgresStore>, StoreError> {
    PostgresStore::open(&ServerUrl::new(url), Duration::from_secs(10)).await.map(Arc::new)
}

fn openssl(folder: &Path, arguments: &str) {
    let made =
        Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().expect("openssl should run");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Creates a certificate for `localhost` and `db.example` by an authority, an unrelated authority, and a self-signed
/// certificate made as in PostgreSQL's manual.
fn certificates(folder: &Path) {
    for authority in ["root", "stranger"] {
        openssl(
            folder,
            &format!(
                "req -new -x509 -days 2 -nodes -newkey rsa:2048 -subj /CN={authority} -out {authority}.crt -keyout {authority}.key"
            ),
        );
    }
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost,DNS:db.example").unwrap();
    openssl(folder, "req -new -nodes -newkey rsa:2048 -subj /CN=localhost -out server.csr -keyout server.key");
    openssl(
        folder,
        "x509 -req -in server.csr -days 2 -CA root.crt -CAkey root.key -CAcreateserial -extfile names -out server.crt",
    );
    openssl(
        folder,
        "req -new -x509 -days 2 -nodes -newkey rsa:2048 -subj /CN=localhost -addext subjectAltName=DNS:localhost -out own.crt -keyout own.key",
    );
}

/// Gives the server a certificate. The server must own its key.
async fn encrypt(server: &TestServer, folder: &Path, name: &str) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let data = server.folder().join("data");
    let owner = std::fs::metadata(&data).unwrap();
    for file in [format!("{name}.crt"), format!("{name}.key")] {
        let copy: PathBuf = data.join(&file);
        std::fs::copy(folder.join(&file), &copy).unwrap();
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o600)).unwrap();
        chown(&copy, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    let client = sql(&server.url()).await;
    for set in [format!("ssl_cert_file = '{name}.crt'"), format!("ssl_key_file = '{name}.key'"), "ssl = on".into()] {
        client.batch_execute(&format!("ALTER SYSTEM SET {set}")).await.unwrap();
    }
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    eventually("TLS", || async { opening(&format!("{}?sslmode=require", server.url())).await.is_ok() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sslmode_checks_what_it_promises() {
    let server = TestServer::postgres();
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let refused = opening(&format!("{}?sslmode=require", server.url())).await.err();
    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "a server without TLS: {refused:?}");
    let tls = |store: &PostgresStore| store.info().details.iter().find(|(name, _)| *name == "tls").unwrap().1.clone();
    assert_eq!(tls(&opening(&server.url()).await.unwrap()), "off: the server has no TLS");
    encrypt(&server, folder.path(), "server").await;
    let root = |name: &str| folder.path().join(name).display().to_string();
    let (root, stranger, own) = (root("root.crt"), root("stranger.crt"), root("own.crt"));
    for (host, parameters, expected) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), Some("off")),
        ("127.0.0.1", "sslmode=prefer".to_owned(), Some("on")),
        ("127.0.0.1", String::new(), Some("on")),
        ("127.0.0.1", "sslmode=require".to_owned(), Some("on")),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={stranger}"), None),
        ("127.0.0.1", "sslmode=verify-ca".to_owned(), None),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={stranger}"), None),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}"), Some("on")),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), None),
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}"), Some("on")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={own}"), None),
    ] {
        let url = server.url().replace("127.0.0.1", host);
        let opened = opening(&format!("{url}?{parameters}")).await;
        match (&opened, expected) {
            (Ok(store), Some(expected)) => assert_eq!(tls(store), expected, "{host} {parameters}"),
            (Err(StoreError::Unavailable(reason)), None) => {
                assert!(reason.contains("certificate"), "{host} {parameters}: {reason}");
            }
            _ => panic!("{host} {parameters}: {:?}", opened.err()),
        }
    }
    encrypt(&server, folder.path(), "own").await;
    let localhost = server.url().replace("127.0.0.1", "localhost");
    for (url, parameters, works) in [
        (&localhost, format!("sslmode=verify-full&sslrootcert={own}"), true),
        (&server.url(), format!("sslmode=verify-full&sslrootcert={own}"), false),
        (&server.url(), format!("sslmode=verify-ca&sslrootcert={own}"), true),
        (&server.url(), format!("sslmode=verify-ca&sslrootcert={root}"), false),
    ] {
        let store = opening(&format!("{url}?{parameters}")).await;
        assert_eq!(store.is_ok(), works, "{url} {parameters}: {:?}", store.err());
    }
    // The store works, it does not only connect.
    let store = opening(&format!("{localhost}?sslmode=verify-full&sslrootcert={own}")).await.unwrap();
    put(&*store, &space("ada"), Head::EMPTY, b"encrypted").await;
}

/// The server's URL under other host names, as at the end of a tunnel.
fn remote(server: &TestServer, names: &str, parameters: &str) -> String {
    let addresses = vec!["127.0.0.1"; names.split(',').count()].join(",");
    let port = server.url().rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let ports = names.split(',').map(|name| format!("{name}:{port}")).collect::<Vec<_>>().join(",");
    server.url().replace(&format!("127.0.0.1:{port}"), &ports) + &format!("?hostaddr={addresses}&{parameters}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_server_is_verified_unless_sslmode_disables_it() {
    let server = TestServer::postgres();
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    for mode in ["", "sslmode=require"] {
        let refused = opening(&remote(&server, "db.example", mode)).await.err().unwrap().to_string();
        assert!(refused.contains("TLS") && refused.contains("sslmode=disable"), "{refused}");
    }
    let plain = opening(&remote(&server, "db.example", "sslmode=disable")).await.unwrap();
    assert!(plain.info().warnings.iter().any(|warning| warning.starts_with("sslmode=disable: ")), "{:?}", plain.info());
    encrypt(&server, folder.path(), "server").await;
    let root = format!("sslrootcert={}", folder.path().join("root.crt").display());
    let stranger = format!("sslrootcert={}", folder.path().join("stranger.crt").display());
    for (names, parameters, works) in [
        ("db.example", String::new(), false),
        ("db.example", "sslmode=require".to_owned(), false),
        ("db.example", format!("sslmode=require&{stranger}"), false),
        ("db.example", root.clone(), true),
        ("db.example", format!("sslmode=require&{root}"), true),
        ("other.example", format!("sslmode=require&{root}"), false),
        ("other.example", format!("sslmode=verify-ca&{root}"), true),
        // Each host is verified by its own name: the first one fails, the second succeeds.
        ("other.example,db.example", root.clone(), true),
        ("other.example,another.example", root.clone(), false),
    ] {
        match opening(&remote(&server, names, &parameters)).await {
            Ok(store) => assert!(works && store.info().warnings.is_empty(), "{names} {parameters}: {:?}", store.info()),
            Err(StoreError::Unavailable(reason)) => {
                let says_what_to_do = reason.contains("certificate") && reason.contains("sslrootcert=FILE");
                assert!(!works && says_what_to_do, "{names} {parameters}: {reason}");
            }
            Err(error) => panic!("{names} {parameters}: {error}"),
        }
    }
    let any = opening(&remote(&server, "other.example", "sslmode=no-verify")).await.unwrap();
    assert!(any.info().warnings.iter().any(|warning| warning.contains("not verified")), "{:?}", any.info());
}

/// With existing tables, read and write permissions are enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_create_permission_works_on_existing_tables() {
    let schema = PostgresSchema::on_shared_server();
    let owner = sql(schema.server()).await;
    let role = format!("limited_{}", schema.name());
    owner.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let limited = schema.url().replace("cork@", &format!("{role}@"));
    let refused = opening(&limited).await.err().unwrap();
    assert!(matches!(&refused, StoreError::Url { reason, .. } if reason.contains("may not create them")), "{refused}");
    assert_eq!(Error::from(refused).kind(), ErrorKind::Invalid);
    drop(patient(&schema.url()).await);
    let grants = format!(
        "GRANT USAGE ON SCHEMA {0} TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO {role}",
        schema.name()
    );
    owner.batch_execute(&grants).await.unwrap();
    let corkboard = Corkboard::open(&limited).await.unwrap();
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("key", &1).await.unwrap();
    assert_eq!(memory.get::<u32>("key").await.unwrap(), Some(1));
    assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
    assert!(corkboard.delete_agent("ada").await.unwrap());
    // Only the owner can scrub tables; PostgreSQL would skip them silently.
    let refused = opening(&limited).await.unwrap().scrub().await.unwrap_err();
    assert!(refused.to_string().contains("owner"), "{refused}");
    owner.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}

/// The log output, for a test to search.
#[derive(Clone, Default)]
struct Log(Arc<parking_lot::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The password is used, but never shown: not in the store's details, errors, debug output or logs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_never_shown() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
    let server = TestServer::postgres();
    let client = sql(&server.url()).await;
    client.batch_execute("CREATE ROLE ada LOGIN SUPERUSER PASSWORD 'hunter2'").await.unwrap();
    let rules = server.folder().join("data/pg_hba.conf");
    std::fs::write(&rules, "host all ada all scram-sha-256\nhost all all all trust\n").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let url = |password: &str| server.url().replace("cork@", &format!("ada:{password}@"));
    eventually("passwords are asked for", || async { opening(&url("hunter3")).await.is_err() }).await;
    let mut shown = vec![
        format!("{:?}", opening(&url("hunter3")).await.err()),
        format!("{:?}", opening(&url("hunter2?colour=red")).await.err()),
        format!("{:?}", opening(&url("hunter2").replace("@127", "/@127")).await.err()),
        format!("{:?}", opening(&url("hunter2").replace("/postgres", "/nowhere")).await.err()),
        format!("{:?}", Corkboard::open(&url("hunter2").replace("postgres:", "postgras:")).await.err()),
        format!("{:?}", url("hunter2").parse::<corkboard::store::StoreUrl>()),
    ];
    assert!(shown.iter().take(5).all(|shown| shown.contains("Url") || shown.contains("Unavailable")), "{shown:?}");
    assert!(shown[0].contains("password authentication failed"), "{}", shown[0]);
    let corkboard = Corkboard::open(&url("hunter2")).await.unwrap();
    corkboard.agent("ada").unwrap().working().set("key", &1).await.unwrap();
    shown.push(format!("{corkboard:?} {:?}", corkboard.store_info()));
    assert!(shown[6].contains("ada@127.0.0.1"), "{}", shown[6]);
    drop(server);
    eventually("the server is away", || async {
        let error = corkboard.agent("ada").unwrap().working().get::<u32>("key").await.err();
        error.inspect(|error| assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}")).is_some()
    })
    .await;
    shown.push(String::from_utf8(log.0.lock().clone()).unwrap());
    assert!(shown[7].contains("corkboard"), "something was logged");
    for shown in shown {
        assert!(!shown.contains("hunter"), "{shown}");
    }
}

/// Acknowledging before writing needs exclusive use of the store, which PostgreSQL never gives.
#[tokio::test]
async fn save_interval_is_refused() {
    let schema = PostgresSchema::on_shared_server();
    let options = Options { save: corkboard::SavePolicy::Interval(Duration::from_secs(1)), ..Options::default() };
    let refused = Corkboard::open_with(&schema.url(), options).await.err();
    assert!(matches!(&refused, Some(Error::Store(StoreError::Url { reason, .. })) if reason.contains("save_interval")));
}
