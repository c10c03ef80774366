//! The formats of answers: tables for people, JSON and YAML for programs.

mod arrangement;
pub mod credentials;
pub mod doc;
pub mod json_path;
pub mod metrics;
pub mod order;
pub mod screen;
pub mod shell;
pub mod table;
pub mod terminal;
pub mod tree;
pub mod units;
pub mod value;
pub mod whole_words;
