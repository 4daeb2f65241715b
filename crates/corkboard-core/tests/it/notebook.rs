//! The notebook's language, form by form: what each text is read as, and what is wrong with it.

/// A text, and what it is read as. The first is what the case is about.
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
