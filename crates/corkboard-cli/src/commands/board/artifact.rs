//! `cork board artifact`.

use clap::{Args, ValueEnum};
use corkboard::boards::{ArtifactId, ArtifactType, NewArtifact, TaskId};
use serde::Serialize;

use crate::board::BoardConditions;
use crate::exit::Failure;
use crate::session::Session;

/// Record something that was made
///
/// Prints its id. The same path again is the next version.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board artifact src/schema.sql --type code --task T-1 --description 'tables users and sessions'")]
pub(crate) struct Artifact {
    /// Where it lives
    path: String,

    /// What kind of thing it is
    #[arg(long = "type", value_name = "TYPE", default_value = "file")]
    kind: TypeName,

    /// What it is
    #[arg(long, short, value_name = "TEXT")]
    description: Option<String>,

    /// The task that it was made for
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,

    #[command(flatten)]
    conditions: BoardConditions,
}

#[derive(Clone, Copy, ValueEnum)]
enum TypeName {
    /// Any file
    File,
    /// Source code
    Code,
    /// Text for people
    Document,
    /// Settings
    Config,
    /// A test
    Test,
}

impl From<TypeName> for ArtifactType {
    fn from(name: TypeName) -> Self {
        match name {
            TypeName::File => Self::File,
            TypeName::Code => Self::Code,
            TypeName::Document => Self::Document,
            TypeName::Config => Self::Config,
            TypeName::Test => Self::Test,
        }
    }
}

impl Artifact {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Answer {
            id: ArtifactId,
            version: u64,
        }
        let board = self.conditions.open(session)?;
        let artifact = NewArtifact {
            kind: self.kind.into(),
            path: self.path,
            description: self.description.unwrap_or_default(),
            associated_task: self.task,
            ..NewArtifact::default()
        };
        let (id, version) = board.record_artifact(artifact).await?;
        session.output.answer(&Answer { id, version }, || id.to_string())
    }
}
