//! A PgBouncer that pools transactions: every transaction may use another server connection.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::servers::{folder, free_port, unprivileged};

/// A temporary PgBouncer in front of a PostgreSQL server on loopback.
pub struct PgBouncer {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl PgBouncer {
    /// Starts it in front of a port, with three server connections for all clients.
    pub fn start(server: u16) -> Self {
        let folder = folder();
        let port = free_port();
        let users = folder.path().join("users.txt");
        std::fs::write(&users, "\"cork\" \"\"\n").expect("the users file should be written");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 500\n\
             auth_type = trust\nauth_file = {}\n",
            users.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("the settings file should be written");
        let log = std::fs::File::create(folder.path().join("pgbouncer.log")).expect("a log file should be created");
        // Debian installs it outside the path of ordinary users.
        let program = ["/usr/sbin/pgbouncer", "pgbouncer"].into_iter().find(|path| std::path::Path::new(path).exists());
        let child = unprivileged(program.unwrap_or("pgbouncer").as_ref())
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log file should be cloned"))
            .stderr(log)
            .spawn()
            .expect("pgbouncer should start: is it installed?");
        let bouncer = Self { child, port, folder };
        bouncer.wait();
        bouncer
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || std::fs::read_to_string(self.folder.path().join("pgbouncer.log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "pgbouncer did not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
