//! The notebook language, form by form: how each text is parsed, and which problems are reported.

/// A text and its parsed form. The first argument names the case.
macro_rules! check {
    ($about:literal, $text:expr, @$expected:literal) => {
        insta::with_settings!({ description => $about }, { insta::assert_snapshot!(read($text), @$expected) })
    };
}

#[path = "notebook/table/layout.rs"]
mod layout;
#[path = "notebook/table/models.rs"]
mod models;
#[path = "notebook/table/problems.rs"]
mod problems;
mod read;
#[path = "notebook/table/reasons.rs"]
mod reasons;
#[path = "notebook/table/snippets.rs"]
mod snippets;
