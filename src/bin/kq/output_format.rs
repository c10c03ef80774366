//! The output formats of answers.

use crate::exit::Failure;
use crate::write;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use kq_answer::Answer;
use kq_output::doc::Doc;
use kq_output::json_path::{CustomColumns, Template};
use std::ffi::OsStr;

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    Table,
    Wide,
    Json,
    Yaml,
    /// Lines of the answer: the names of its rows, or a script.
    Name,
    /// A format of other programs.
    Exchange(Exchange),
    /// A template, read once and kept for as long as the process runs.
    JsonPath(&'static Template),
    /// Columns, read once and kept for as long as the process runs.
    CustomColumns(&'static CustomColumns),
}

/// A format of other programs, which some answers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Numbers for Prometheus.
    Metrics,
    /// Findings for code scanners.
    Sarif,
    /// Findings for CI servers.
    Junit,
    /// The answer of each node, in a line of JSON.
    Lines,
    /// A line for each node, for spreadsheets.
    Csv,
}

/// What `-o metrics` prints.
const METRICS: &[(&str, &str, Exchange)] =
    &[("metrics", "Numbers as OpenMetrics, for Prometheus", Exchange::Metrics)];

/// What lints print for other programs.
const LINT: &[(&str, &str, Exchange)] = &[
    ("sarif", "Findings as SARIF, for code scanners", Exchange::Sarif),
    ("junit", "Findings as JUnit XML, for CI servers", Exchange::Junit),
];

/// What answers about many nodes print as they arrive.
const ARRIVING: &[(&str, &str, Exchange)] = &[
    ("jsonl", "The complete answer of each node as it arrives, in one line", Exchange::Lines),
    ("csv", "A line for each node as it arrives, with its results", Exchange::Csv),
];

/// The start of a template on the command line.
const JSON_PATH: &str = "jsonpath=";

/// The start of columns on the command line.
const CUSTOM_COLUMNS: &str = "custom-columns=";

/// Reads a format.
#[derive(Clone, Debug)]
pub struct FormatParser {
    /// The format that prints lines, and what these are; `None`: the answer has none.
    names: Option<(&'static str, &'static str)>,
    /// The formats of other programs that the answer has.
    exchange: &'static [(&'static str, &'static str, Exchange)],
}

/// Reads a format of an answer whose rows have no names.
pub fn formats() -> FormatParser {
    FormatParser { names: None, exchange: &[] }
}

/// Reads a format of an answer with names; `names` says which.
pub fn formats_with(names: &'static str) -> FormatParser {
    FormatParser { names: Some(("name", names)), exchange: &[] }
}

/// Reads a format of an answer that says what to do.
pub fn formats_with_script() -> FormatParser {
    FormatParser {
        names: Some(("script", "What to do before the change, as a script for a shell")),
        exchange: &[],
    }
}

impl FormatParser {
    /// Reads also the format of numbers.
    pub fn and_metrics(self) -> Self {
        Self { exchange: METRICS, ..self }
    }

    /// Reads also the formats of lints.
    pub fn and_lint(self) -> Self {
        Self { exchange: LINT, ..self }
    }

    /// Reads also the formats of answers that arrive one after the other.
    pub fn and_lines(self) -> Self {
        Self { exchange: ARRIVING, ..self }
    }

    fn values(&self) -> Vec<PossibleValue> {
        let value = |name, help| PossibleValue::new(name).help(help);
        let mut values = vec![
            value("table", "Human-readable summary"),
            value("wide", "All details"),
            value("json", "The complete answer as JSON"),
            value("yaml", "The complete answer as YAML"),
        ];
        values.extend(self.names.map(|(name, help)| value(name, help)));
        values.extend(self.exchange.iter().map(|(name, help, _)| value(name, help)));
        values.push(value(
            JSON_PATH,
            "Values by a template of kubectl, such as jsonpath='{.items[*].id}'",
        ));
        values.push(value(
            CUSTOM_COLUMNS,
            "A table of the items with these columns, such as custom-columns=ID:.id,SIZE:.sizeBytes",
        ));
        values
    }
}

impl TypedValueParser for FormatParser {
    type Value = OutputFormat;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<OutputFormat, clap::Error> {
        let text = value.to_string_lossy();
        let has_template = text.starts_with(JSON_PATH) || text.starts_with(CUSTOM_COLUMNS);
        if has_template || (text == "name" && self.names.is_none_or(|(name, _)| name != "name")) {
            return StringValueParser::new()
                .try_map(|text| template(&text))
                .parse_ref(command, argument, value);
        }
        let parser = PossibleValuesParser::new(self.values());
        let format = parser.parse_ref(command, argument, value)?;
        if let Some((.., exchange)) = self.exchange.iter().find(|(name, ..)| *name == format) {
            return Ok(OutputFormat::Exchange(*exchange));
        }
        Ok(match format.as_str() {
            "wide" => OutputFormat::Wide,
            "json" => OutputFormat::Json,
            "yaml" => OutputFormat::Yaml,
            "name" | "script" => OutputFormat::Name,
            _ => OutputFormat::Table,
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values().into_iter()))
    }
}

fn template(text: &str) -> Result<OutputFormat, String> {
    if let Some(text) = text.strip_prefix(JSON_PATH) {
        let template = Template::parse(text).map_err(|error| error.to_string())?;
        return Ok(OutputFormat::JsonPath(Box::leak(Box::new(template))));
    }
    match text.strip_prefix(CUSTOM_COLUMNS) {
        Some(text) => {
            let columns = CustomColumns::parse(text).map_err(|error| error.to_string())?;
            Ok(OutputFormat::CustomColumns(Box::leak(Box::new(columns))))
        }
        None => Err("the rows of this answer have no names: expected table, wide, json, yaml, \
                     jsonpath=TEMPLATE or custom-columns=SPEC"
            .to_owned()),
    }
}

impl OutputFormat {
    /// Returns true for formats for people, which have notes on standard error.
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Table | Self::Wide | Self::Name)
    }

    /// Returns true for formats that have all of an answer, with its basis.
    pub fn has_basis(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }

    /// Writes an answer whose rows have no names.
    pub fn write<T: Answer, A: Into<Doc>, B: Into<Doc>>(
        self,
        value: &T,
        table: impl FnOnce(&T) -> A,
        wide: impl FnOnce(&T) -> B,
    ) -> Result<(), Failure> {
        match self {
            Self::Table => write::answered(value, table(value)),
            Self::Wide => write::answered(value, wide(value)),
            structured => write::answer(structured, value),
        }
    }

    /// Writes an answer, or the names of its rows.
    pub fn write_or_names<T: Answer, A: Into<Doc>, B: Into<Doc>>(
        self,
        value: &T,
        table: impl FnOnce(&T) -> A,
        wide: impl FnOnce(&T) -> B,
        names: impl FnOnce(&T) -> Vec<String>,
    ) -> Result<(), Failure> {
        match self {
            Self::Name => write::verbatim(names(value)),
            other => other.write(value, table, wide),
        }
    }
}
