//! How an answer looks: tables for people, JSON and YAML for programs.

pub mod bar;
pub mod json_path;
pub mod table;
pub mod terminal;
pub mod tree;
pub mod units;
pub mod value;
