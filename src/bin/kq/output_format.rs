//! The forms of an answer that has no short names in it.

use crate::exit::Failure;
use crate::write::{self, Output};
use clap::ValueEnum;
use kq::answer::Answer;
use std::fmt::Display;

/// The forms of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Human-readable summary
    Table,
    /// All details
    Wide,
    /// The complete answer as JSON
    Json,
    /// The complete answer as YAML
    Yaml,
}

impl Form {
    /// Tells whether people are to read it.
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }

    /// Writes an answer.
    pub fn write<T: Answer, A: Display, B: Display>(
        self,
        value: &T,
        table: impl FnOnce(&T) -> A,
        wide: impl FnOnce(&T) -> B,
    ) -> Result<(), Failure> {
        match self {
            Self::Table => write::text(table(value)),
            Self::Wide => write::text(wide(value)),
            Self::Json => write::answer(Output::Json, value),
            Self::Yaml => write::answer(Output::Yaml, value),
        }
    }
}
