//! Schemas of types that are written as text or with a hand-written serializer.

use std::borrow::Cow;

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Schemas of strings with a pattern.
macro_rules! text {
    ($($type:ty, $name:literal, $words:literal, $pattern:literal, $example:literal;)*) => {$(
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let text = ObjectBuilder::new()
                    .schema_type(SchemaType::Type(Type::String))
                    .description(Some($words))
                    .pattern(Some($pattern))
                    .examples([$example]);
                RefOr::T(Schema::Object(text.build()))
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    )*};
}

text! {
    crate::board::TaskId, "TaskId", "A task ID", "^[Tt]-[0-9]{1,18}$", "T-1";
    crate::board::DecisionId, "DecisionId", "A decision ID", "^[Dd]-[0-9]{1,18}$", "D-1";
    crate::board::DiscoveryId, "DiscoveryId", "A discovery ID", "^[Ff]-[0-9]{1,18}$", "F-1";
    crate::board::ArtifactId, "ArtifactId", "An artifact ID", "^[Aa]-[0-9]{1,18}$", "A-1";
    crate::board::ChoiceId, "ChoiceId", "A choice ID", "^[Cc]-[0-9]{1,18}$", "C-1";
    crate::board::NudgeId, "NudgeId", "A nudge ID", "^[Nn]-[0-9]{1,18}$", "N-1";
    crate::board::ApprovalId, "ApprovalId", "An approval ID", "^[Aa][Pp]-[0-9]{1,18}$", "AP-1";
    crate::knowledge::CoreEntryId, "CoreEntryId", "The ID of an entry in a memory core", "^[Ee]-[0-9]{1,18}$", "E-1";
    crate::tokens::TokenId, "TokenId", "A token ID", "^[Kk]-[0-9]{1,18}$", "K-1";
    crate::board::LearningId, "LearningId", "A learning ID: D-1, F-1, rework:T-1, estimate:word or sequence:one.two",
        "^([DdFf]-[0-9]{1,18}|rework:[Tt]-[0-9]{1,18}|(estimate|sequence):.+)$", "D-1";
    crate::board::CoreRef, "CoreRef", "An entry of a memory core: the core's name, a colon and the entry ID", "^.+:[Ee]-[0-9]{1,18}$", "house-rules:E-1";
    crate::board::TaskRef, "TaskRef", "A task ID, or the key of a task in the same request", "^.+$", "T-1";
    crate::board::BoardItem, "BoardItem", "The ID of a task, decision, discovery, artifact or choice", "^[TDFACtdfac]-[0-9]{1,18}$", "T-1";
    crate::board::RecordId, "RecordId", "The ID of a task, decision, discovery, artifact, choice, nudge or approval; `learning:` and a learning ID; or `board` for the board's own texts", "^([TDFACNtdfacn]-[0-9]{1,18}|[Aa][Pp]-[0-9]{1,18}|learning:.+|board)$", "D-1";
    crate::notebook::NotebookLearningId, "NotebookLearningId", "The ID of a key learning", "^[Kk][Ll]-[0-9]{1,18}$", "KL-1";
    crate::notebook::SnippetId, "SnippetId", "The ID of a snippet", "^[Vv][Cc]-[0-9]{1,18}$", "VC-1";
    crate::notebook::NotebookItemId, "NotebookItemId", "The ID of a key learning or a snippet", "^([Kk][Ll]|[Vv][Cc])-[0-9]{1,18}$", "KL-1";
}

/// A diff is serialized as a plain list, which a derived schema would not show.
impl PartialSchema for crate::notebook::NotebookDiff {
    fn schema() -> RefOr<Schema> {
        let changes =
            ArrayBuilder::new().items(Ref::from_schema_name(crate::notebook::NotebookChange::name())).description(
                Some("The changes from one revision to another: progress first, then learnings, then snippets"),
            );
        RefOr::T(Schema::Array(changes.build()))
    }
}

impl ToSchema for crate::notebook::NotebookDiff {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NotebookDiff")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        use crate::notebook::NotebookChange;
        schemas.push((NotebookChange::name().into(), NotebookChange::schema()));
        NotebookChange::schemas(schemas);
    }
}

impl PartialSchema for crate::Content {
    fn schema() -> RefOr<Schema> {
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("Any JSON value"));
        RefOr::T(Schema::Object(any.build()))
    }
}

impl ToSchema for crate::Content {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyValue")
    }
}

/// The JSON form of [`crate::Access`].
#[derive(ToSchema)]
#[allow(dead_code, reason = "it is only described")]
pub(crate) struct AccessForm {
    /// How often the entry was read.
    access_count: u64,
    /// When it was last read.
    last_accessed_at: Option<jiff::Timestamp>,
}

/// The JSON form of a lease duration.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it is only described")]
pub(crate) struct LeaseForm {
    /// Lease duration in seconds.
    lease_s: f64,
}

/// Schemas of types that are serialized in the form of another type.
macro_rules! same_as {
    ($($type:ty, $form:ty;)*) => {$(
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <$form as utoipa::PartialSchema>::schema()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                <$form as utoipa::ToSchema>::name()
            }

            fn schemas(schemas: &mut std::vec::Vec<(std::string::String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <$form as utoipa::ToSchema>::schemas(schemas);
            }
        }
    )*};
}

pub(crate) use same_as;
