//! Errors of calls to the server, and what they mean for the operation.

use std::time::Duration;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::error::error_chain;
use crate::store::StoreError;

/// Why a call failed.
#[derive(Debug)]
pub(super) enum PostgresCallError {
    /// The call was not sent: nothing was done.
    NotSent(StoreError),
    /// The server refused: nothing was done.
    Refused { code: SqlState, text: String },
    /// The call took too long and was cancelled: nothing was done.
    Cancelled { waited: Duration },
    /// The call was sent, but not answered: it may have been done.
    Lost(String),
}

impl PostgresCallError {
    /// Converts the driver's error for a call that was sent.
    pub(super) fn of(error: &tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else { return Self::Lost(error_chain(error)) };
        let code = refusal.code().code();
        let ends_connection = match refusal.parsed_severity() {
            Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
            None => matches!(refusal.severity(), "FATAL" | "PANIC"),
        };
        // A server that shuts down or crashes, or a proxy that lost its server, may report this after the commit.
        if ends_connection || code.starts_with("08") || code.starts_with("57P") || code == "40003" {
            return Self::Lost(text(refusal));
        }
        Self::Refused { code: refusal.code().clone(), text: text(refusal) }
    }

    /// Whether an immediate retry may succeed: the call collided with others and was rolled back.
    pub(super) fn is_collision(&self) -> bool {
        matches!(self, Self::Refused { code, .. }
            if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code))
    }

    /// Whether a prepared statement was missing or a different one.
    pub(super) fn is_stale_statement(&self) -> bool {
        matches!(self, Self::Refused { code, .. }
            if [
                SqlState::INVALID_SQL_STATEMENT_NAME,
                SqlState::DUPLICATE_PSTATEMENT,
                SqlState::FEATURE_NOT_SUPPORTED,
            ]
            .contains(code))
    }

    /// Whether the connection must be replaced: it is cut, mixes up statements, or leads to a server that has become a
    /// standby.
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

/// The error of a failed connection attempt. It is an error of the URL if waiting does not help.
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

/// Advice for a connection that cannot be encrypted, or whose server cannot be verified.
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

/// The server's message, without its details, which may quote stored content.
fn text(refusal: &DbError) -> String {
    format!("PostgreSQL: {} ({})", refusal.message(), refusal.code().code())
}
