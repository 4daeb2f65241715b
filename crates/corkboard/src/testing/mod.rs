//! For those who test stores.
