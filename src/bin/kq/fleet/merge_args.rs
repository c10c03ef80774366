//! The flags that merge and show the answers of nodes.

use super::question::Question;
use super::snapshot_args::no_such_node;
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{Exchange, OutputFormat, formats_with};
use crate::progress::Progress;
use crate::write;
use anyhow::anyhow;
use kq_core::fleet::{FleetAnswer, Merge, NodeOutcome, Reply, csv, names, summary, table, wide};
use kq_node::action::fleet::Wanted;
use kq_output::json_path::Template;
use serde::Serialize;
use serde_json::value::RawValue;

/// How answers are merged and shown.
#[derive(Clone, Debug, clap::Args)]
pub struct MergeArgs {
    /// Count the nodes apart by the value of this label; pool is also the pool of EKS, GKE, AKS or Karpenter
    #[arg(long, value_name = "LABEL")]
    pub group_by: Option<String>,

    /// A number of each answer, by its path in JSON, such as run.usage.percent: percentiles, and the
    /// nodes at both ends
    #[arg(long, value_name = "JSONPATH", value_parser = parse_value)]
    pub value: Option<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The nodes, those with the worst results first").and_lines())]
    output: OutputFormat,
}

/// Takes the number of nodes so far and an outcome; `None`: the node is not selected.
pub type Take<'a> = dyn FnMut(usize, Option<NodeOutcome>) -> Result<(), Failure> + 'a;

/// The answer of a node in a line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    answer: Option<&'a RawValue>,
    error: Option<String>,
    exit_code: u8,
    group: Option<&'a str>,
    node: &'a str,
}

fn parse_value(text: &str) -> Result<String, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    drop(template);
    Ok(text.to_owned())
}

impl MergeArgs {
    /// Returns what is read of each answer.
    pub fn wanted(&self) -> Wanted {
        Wanted::Reply { value: self.value.clone(), has_answer: self.writes_answers() }
    }

    /// Returns true if each answer is written as a whole.
    pub fn writes_answers(&self) -> bool {
        self.output == OutputFormat::Exchange(Exchange::Lines)
    }

    /// Merges the answers of a number of nodes as they arrive from `ask`. They are written as they arrive where that is
    /// the format, and `is_shown`.
    pub fn merge(
        &self,
        nodes: usize,
        is_shown: bool,
        ask: impl FnOnce(&mut Take<'_>) -> Result<(), Failure>,
    ) -> Result<Merge, Failure> {
        let mut merged = Merge::new(self.value.clone());
        if is_shown && self.output == OutputFormat::Exchange(Exchange::Csv) {
            write::verbatim([csv(None)])?;
        }
        let (progress, mut failed) = (Progress::of("nodes"), 0);
        ask(&mut |done, outcome| {
            if let Some(outcome) = outcome {
                failed += usize::from(matches!(outcome.reply, Reply::Failed { .. }));
                merged.add(&outcome);
                if is_shown {
                    self.line(&outcome)?;
                }
            }
            progress.show_rate(done, nodes, failed);
            Ok(())
        })?;
        Ok(merged)
    }

    /// Shows the merged answer, and returns the exit code.
    pub fn show(
        &self,
        question: &Question,
        merged: Merge,
        before: Option<Merge>,
    ) -> Result<Code, Failure> {
        let code = Code::of_nodes(merged.exit_code());
        let answer = merged.finish(question.words(), before);
        if answer.nodes.asked == 0 {
            return Err(no_such_node());
        }
        if let OutputFormat::Exchange(Exchange::Lines | Exchange::Csv) = self.output {
            return Ok(code);
        }
        if let (Code::Usage, Some(first)) = (code, answer.basis.missing.first()) {
            return Err(Failure::usage(anyhow!("no node understood the command: {}", first.text)));
        }
        self.output.write_or_names(&answer, table, wide, |it: &FleetAnswer| names(it))?;
        if self.output.is_for_people() {
            note("nodes", &summary(&answer));
            tell(&answer.basis);
        }
        Ok(code)
    }

    /// Writes the answer of a node, where answers are written as they arrive.
    fn line(&self, outcome: &NodeOutcome) -> Result<(), Failure> {
        match self.output {
            OutputFormat::Exchange(Exchange::Csv) => write::verbatim([csv(Some(outcome))]),
            OutputFormat::Exchange(Exchange::Lines) => {
                let answer = outcome.answer.as_deref().map(serde_json::from_str::<&RawValue>);
                let error = match &outcome.reply {
                    Reply::Answered { .. } => None,
                    Reply::Failed { why, .. } => Some(why.to_string()),
                };
                write::line(&Line {
                    answer: answer.transpose().map_err(Failure::missing)?,
                    error,
                    exit_code: outcome.reply.exit_code(),
                    group: outcome.group.as_deref(),
                    node: &outcome.node,
                })
            }
            _ => Ok(()),
        }
    }
}
