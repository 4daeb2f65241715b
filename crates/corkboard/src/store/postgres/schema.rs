//! Creates the tables exactly once, even if several processes open an empty database at the same time.

use super::error::PostgresCallError;
use super::pool::{Pool, PooledConnection};
use super::settings::Schema;
use crate::store::StoreError;

/// The migrations from each version of the tables to the next. Their number is the current version.
const STEPS: &[&str] = &[concat!(include_str!("tables.sql"), include_str!("functions.sql"))];
const FORMAT: u32 = STEPS.len() as u32;

/// The table that holds the version, in one row.
const VERSION: &str = "
CREATE TABLE {schema}.corkboard (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);
INSERT INTO {schema}.corkboard (version) VALUES (0);";

/// Lock that serializes creating tables in all schemas of a database.
const LOCK: &str = "BEGIN; SELECT pg_advisory_xact_lock(4859216113640714059);";

/// Migrates the tables to the current version. If they are current, this only reads their version.
pub(super) async fn prepare(pool: &Pool) -> Result<(), StoreError> {
    let waited = pool.patience();
    let prepared = tokio::time::timeout(waited, try_prepare(pool)).await;
    prepared.unwrap_or(Err(StoreError::Busy { waited }))
}

async fn try_prepare(pool: &Pool) -> Result<(), StoreError> {
    let schema = &pool.settings().schema;
    let connection = pool.take().await?;
    let made = match version(&connection, schema).await {
        Ok(Some(FORMAT)) => Ok(()),
        Ok(_) => {
            let made = make(&connection, schema).await;
            if made.is_err() {
                let _ = connection.execute("ROLLBACK").await;
            }
            made
        }
        Err(error) => Err(error),
    };
    match made {
        Err(PostgresCallError::Refused { code, text }) if code.code() == "42501" => Err(StoreError::Url {
            url: pool.settings().location(),
            reason: format!("the tables are missing or not accessible to this user, who may not create them: {text}"),
        }),
        // If it is unknown whether they were created, opening again will find out.
        made => made.map_err(PostgresCallError::reading),
    }
}

async fn version(connection: &PooledConnection<'_>, schema: &Schema) -> Result<Option<u32>, PostgresCallError> {
    // Not with to_regclass: inside a transaction it may remember that the table did not exist.
    let exists = format!("SELECT 1 FROM pg_tables WHERE schemaname = '{}' AND tablename = 'corkboard'", schema.name());
    if connection.execute(&exists).await?.is_none() {
        return Ok(None);
    }
    let text = connection.execute(&schema.fill("SELECT version FROM {schema}.corkboard")).await?;
    let missing = || PostgresCallError::NotSent(StoreError::Corrupt("the version of the tables is missing".into()));
    match text.as_deref().and_then(|text| text.parse().ok()).ok_or_else(missing)? {
        found if found > FORMAT => Err(PostgresCallError::NotSent(StoreError::NewerFormat { found, known: FORMAT })),
        found => Ok(Some(found)),
    }
}

async fn make(connection: &PooledConnection<'_>, schema: &Schema) -> Result<(), PostgresCallError> {
    connection.execute(LOCK).await?;
    // Another process may have created them in the meantime.
    let found = version(connection, schema).await?;
    if found != Some(FORMAT) {
        let exists = format!("SELECT 1 FROM pg_namespace WHERE nspname = '{}'", schema.name());
        if connection.execute(&exists).await?.is_none() {
            connection.execute(&schema.fill("CREATE SCHEMA {schema}")).await?;
        }
        if found.is_none() {
            connection.execute(&schema.fill(VERSION)).await?;
        }
        for step in STEPS.iter().skip(found.unwrap_or(0) as usize) {
            connection.execute(&schema.fill(step)).await?;
        }
        connection.execute(&schema.fill(&format!("UPDATE {{schema}}.corkboard SET version = {FORMAT}"))).await?;
    }
    connection.execute("COMMIT").await?;
    Ok(())
}
