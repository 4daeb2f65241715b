//! How calls of the server fail, and what that means for what they were to do.

use std::time::Duration;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::error::error_chain;
use crate::store::StoreError;

/// Why a call gave nothing.
#[derive(Debug)]
pub(super) enum PostgresCallError {
    /// It was not sent: nothing was done.
    NotSent(StoreError),
    /// The server said no: nothing was done.
    Refused { code: SqlState, text: String },
    /// It took too long and was cancelled: nothing was done.
    Cancelled { waited: Duration },
    /// It was sent, and there is no answer: it may be done or not.
    Lost(String),
}

impl PostgresCallError {
    /// What the driver's error means for a call that was sent.
    pub(super) fn of(error: &tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else { return Self::Lost(error_chain(error)) };
        let code = refusal.code().code();
        let ends_connection = match refusal.parsed_severity() {
            Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
            None => matches!(refusal.severity(), "FATAL" | "PANIC"),
        };
        // A server that shuts down or crashes, and a proxy that lost its server, may do so after the commit.
        if ends_connection || code.starts_with("08") || code.starts_with("57P") || code == "40003" {
            return Self::Lost(text(refusal));
        }
        Self::Refused { code: refusal.code().clone(), text: text(refusal) }
    }

    /// Whether the same call may succeed at once: others were in the way, and the server undid it.
    pub(super) fn is_collision(&self) -> bool {
        matches!(self, Self::Refused { code, .. }
            if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code))
    }

    /// Whether it failed because a prepared statement was not the one that it was thought to be.
    pub(super) fn is_stale_statement(&self) -> bool {
        matches!(self, Self::Refused { code, .. }
            if [
                SqlState::INVALID_SQL_STATEMENT_NAME,
                SqlState::DUPLICATE_PSTATEMENT,
                SqlState::FEATURE_NOT_SUPPORTED,
            ]
            .contains(code))
    }

    /// Whether another connection might do better: this one is cut, mixes up statements, or leads to a server that has
    /// become a standby.
    pub(super) fn spoils_connection(&self) -> bool {
        let is_standby = |code: &SqlState| *code == SqlState::READ_ONLY_SQL_TRANSACTION;
        let lost = matches!(self, Self::Lost(_));
        lost || self.is_stale_statement() || matches!(self, Self::Refused { code, .. } if is_standby(code))
    }

    pub(super) fn reading(self) -> StoreError {
        match self {
            Self::NotSent(error) => error,
            Self::Refused { code, text } => refused(&code, text),
            Self::Cancelled { waited } => StoreError::Busy { waited },
            Self::Lost(text) => StoreError::Unavailable(text),
        }
    }

    pub(super) fn writing(self) -> StoreError {
        match self {
            Self::Lost(text) => StoreError::OutcomeUnknown(text),
            other => other.reading(),
        }
    }
}

fn refused(code: &SqlState, text: String) -> StoreError {
    match code.code() {
        "57014" | "55P03" | "40001" | "40P01" => StoreError::Busy { waited: Duration::ZERO },
        "53100" => StoreError::NoSpace(text),
        "XX001" | "XX002" => StoreError::Corrupt(text),
        // Rows that contradict each other.
        code if code.starts_with("23") => StoreError::Corrupt(text),
        _ => StoreError::Unavailable(text),
    }
}

/// Why there is no connection. What no waiting changes is an error of the URL.
pub(super) fn cannot_connect(location: &str, error: &tokio_postgres::Error) -> StoreError {
    match error.as_db_error() {
        Some(refusal) => {
            let text = text(refusal);
            match refusal.code().code() {
                // A wrong password, an unknown user or database.
                code if code.starts_with("28") || code == "3D000" => {
                    StoreError::Url { url: location.into(), reason: text }
                }
                _ => StoreError::Unavailable(text),
            }
        }
        None => {
            let text = error_chain(error);
            StoreError::Unavailable(format!("{location}: {text}{}", advice(&text)))
        }
    }
}

/// What to do about a connection that cannot be encrypted, or whose server cannot be verified.
fn advice(text: &str) -> &'static str {
    if text.contains("does not support TLS") {
        "; turn on ssl on the server, or connect without encryption with sslmode=disable if the network is private"
    } else if text.contains("certificate") {
        "; name the certificate authority with sslrootcert=FILE, and connect by a name in the server's certificate; \
         sslmode=no-verify accepts any certificate"
    } else {
        ""
    }
}

/// The server's words. Not its details: they may quote what is stored.
fn text(refusal: &DbError) -> String {
    format!("PostgreSQL: {} ({})", refusal.message(), refusal.code().code())
}
