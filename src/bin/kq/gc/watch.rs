//! `kq gc watch`

use super::apply::Act;
use super::apply::refuse_unknown;
use super::question::{Question, TriggerArg, write_basis};
use super::runtime::refuse_snapshot;
use crate::exit::{self, Code, Failure, note, warn};
use crate::interval::parse_interval;
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use anyhow::anyhow;
use kq::edge::clock::now;
use kq::facts::timestamp::Timestamp;
use kq::image_gc::loops::{GcLoop, Outcome};
use kq::image_gc::plan::ImageGcPlan;
use kq::image_gc::watch::{Pass, pass_lines};
use std::time::Duration;

/// Run the kubelet's garbage-collection loop and report each pass
///
/// watch runs a pass now and then one every five minutes, counted from the end of
/// the previous pass. Each pass reads the node again. Failures follow the
/// kubelet's rules: the first one in a row is a line in its log, the following
/// ones are events on its node. With --yes, each pass removes the images that it
/// reports, as kq gc apply does.
///
/// Examples:
///
///   kq gc watch
///   kq gc watch --interval 30s --passes 10
///   kq gc watch --at-usage 90% -o json | jq -c '{at: .plan.at, log, outcome}'
///   kq gc watch --yes --keep '/pause:'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Time between the end of a pass and the next pass
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_interval)]
    interval: Duration,

    /// Exit after this number of passes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    passes: Option<u64>,

    #[command(flatten)]
    act: Act,

    /// Remove the images that each pass reports, without asking for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the images to remove"))]
    output: OutputFormat,

    #[command(flatten)]
    question: Question,
}

impl Args {
    /// Turns the loop.
    pub fn run(self) -> Result<Code, Failure> {
        refuse_snapshot(self.yes && self.question.node.kubelet.sources.snapshot.is_some())?;
        if self.question.trigger == TriggerArg::Eviction {
            return Err(Failure::usage(anyhow!(
                "--trigger eviction: this loop is that of garbage collection, every five minutes; disk \
                 pressure has another one"
            ))
            .hint("kq gc dry-run --trigger eviction says what disk pressure would remove"));
        }
        let mut turning: Option<GcLoop> = None;
        let mut number = 0;
        loop {
            number += 1;
            let code = self.pass(number, &mut turning)?;
            if self.passes == Some(number) || code == Code::No {
                return Ok(Code::Answered);
            }
            std::thread::sleep(self.interval);
        }
    }

    /// Runs one pass. `No`: the kubelet does not turn the loop at all.
    fn pass(&self, number: u64, turning: &mut Option<GcLoop>) -> Result<Code, Failure> {
        let gathered = self.question.gather().and_then(|node| {
            let planned = self.question.plan_without(&node, &self.act.kept(&node)?)?;
            Ok((node, planned.plan))
        });
        let (node, plan) = match gathered {
            Ok(gathered) => gathered,
            // A runtime that is away for a while is there at another pass.
            Err(failure) => return away(number, turning.as_mut(), failure),
        };
        if turning.is_none() {
            *turning = GcLoop::images(&node.policy());
            write_basis(&plan);
        }
        let Some(turning) = turning else {
            note(
                "off",
                "the kubelet does not turn this loop: imageGCHighThresholdPercent is 100 and \
                 imageMaximumGCAge is off",
            );
            return Ok(Code::No);
        };
        // The kubelet fails without its measurements, and removes nothing for space then.
        let unknown = refuse_unknown(&plan).err().map(|failure| failure.reason());
        if number == 1
            && let Some(reason) = &unknown
        {
            let missing = anyhow!("{reason}");
            return Err(
                Failure::missing(missing).hint("say how full it is with --at-usage PERCENT")
            );
        }
        if self.yes {
            exit::changes_begin();
        }
        let removed = match self.yes && unknown.is_none() {
            true => match self.act.carry_out(&self.question, &node, &plan, |_| {}) {
                Ok(removed) => Some(removed),
                Err(failure) => return away(number, Some(turning), failure),
            },
            false => None,
        };
        let failed = removed.as_ref().and_then(|report| report.failure());
        let short = removed.as_ref().filter(|report| report.is_short());
        let short = short.map(|report| {
            let wanted = report.target_bytes.unwrap_or_default();
            format!("wanted to free {wanted} bytes, but freed {} bytes", report.counted_bytes)
        });
        let error = unknown.or(failed).or_else(|| plan.outcome.error.clone()).or(short);
        let ended: Timestamp = now().parse().map_err(Failure::missing)?;
        let turn = turning.step(ended.0, error.as_deref().map_or(Ok(()), Err));
        self.show(&Pass::new(number, plan, removed, turn.outcome))
    }

    fn show(&self, pass: &Pass) -> Result<Code, Failure> {
        match self.output {
            OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::Exchange(_)
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_) => write::answer(self.output, pass)?,
            OutputFormat::Name => {
                let plan: &ImageGcPlan = &pass.plan;
                let removed = plan.items.iter().filter(|item| item.verdict.is_removal());
                write::lines(removed.map(|item| item.id.clone()))?;
            }
            OutputFormat::Table | OutputFormat::Wide => write::lines(pass_lines(pass))?,
        }
        Ok(Code::Answered)
    }
}

/// Tells of a pass without a runtime, which the loop counts as failed: the kubelet has none either. Before
/// the first one there is nothing to go on with.
fn away(number: u64, turning: Option<&mut GcLoop>, failure: Failure) -> Result<Code, Failure> {
    let Some(turning) = turning else { return Err(failure) };
    let ended: Timestamp = now().parse().map_err(Failure::missing)?;
    let reason = failure.reason();
    let told = match turning.step(ended.0, Err(&reason)).outcome {
        Outcome::FailedAndTold(event) => format!(", an event {}", event.reason),
        _ => String::new(),
    };
    warn(&format!("pass {number} failed{told}: {reason}"));
    Ok(Code::Answered)
}
