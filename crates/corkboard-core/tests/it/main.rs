//! The tests of the domain, in one binary, because linking dominates the build time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests and their helpers fail by panicking"
)]

mod authority;
mod batch;
mod board_choices;
mod board_copies;
mod board_cycles;
mod board_failures;
mod board_forget;
mod board_format;
mod board_learnings;
mod board_leases;
mod board_lifetime;
mod board_limits;
mod board_model;
mod board_patterns;
mod board_people;
mod board_promotion;
mod board_records;
mod board_refusals;
mod board_roles;
mod board_rules;
mod board_status;
mod board_support;
mod core_forget;
mod core_format;
mod core_model;
mod core_roles;
mod core_rules;
mod core_support;
mod decide;
mod forget_notebook;
mod format;
mod model;
mod notebook;
mod notebook_properties;
mod purity;
mod refusals_wire;
mod support;
mod tokens;
mod wire;
