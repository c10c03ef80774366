//! `kq gc watch`

use super::apply::{RemovalArgs, show_progress};
use super::question::{Question, TriggerArg, write_basis};
use crate::exit::{self, Code, Failure, note, warn};
use crate::output_format::{OutputFormat, formats_with};
use crate::progress::Progress;
use crate::source_args::parse_interval;
use crate::write;
use anyhow::anyhow;
use kq_image_gc::loops::{Pass, pass_lines};
use kq_node::action::image_gc::watch::{Event, WatchOptions, watch};
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
    removal: RemovalArgs,

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
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { interval, passes, removal, yes, output, question } = self;
        question.refuse_snapshot(yes)?;
        if question.trigger == TriggerArg::Eviction {
            return Err(Failure::usage(anyhow!(
                "--trigger eviction: disk pressure has another loop; watch runs that of garbage \
                 collection"
            ))
            .hint(
                "kq gc dry-run --trigger eviction shows the images that disk pressure would remove",
            ));
        }
        let removal = removal.options(&question);
        let options = WatchOptions {
            question: question.options(),
            removal,
            is_removing: yes,
            interval,
            passes,
        };
        let mut progress = None;
        watch(&options, &mut || question.gather(), &mut |event| {
            match event {
                Event::Begun(plan) => write_basis(plan),
                Event::Off => note(
                    "off",
                    "the kubelet does not run this loop: imageGCHighThresholdPercent is 100 and \
                     imageMaximumGCAge is off",
                ),
                Event::Removing => {
                    exit::changes_begin(None);
                    progress = Some(Progress::of("images"));
                }
                Event::Removal(event) => {
                    progress.iter().for_each(|progress| show_progress(progress, &event));
                }
                Event::Failed(text) => {
                    progress = None;
                    warn(&text);
                }
                Event::Pass(pass) => {
                    progress = None;
                    return show(output, pass);
                }
            }
            Ok(())
        })?;
        Ok(Code::Answered)
    }
}

fn show(output: OutputFormat, pass: &Pass) -> Result<(), Failure> {
    match output {
        OutputFormat::Json
        | OutputFormat::Yaml
        | OutputFormat::Exchange(_)
        | OutputFormat::JsonPath(_)
        | OutputFormat::CustomColumns(_) => write::answer(output, pass),
        OutputFormat::Name => {
            let removed = pass.plan.items.iter().filter(|item| item.verdict.is_removal());
            write::lines(removed.map(|item| item.id.clone()))
        }
        OutputFormat::Table | OutputFormat::Wide => write::lines(pass_lines(pass)),
    }
}
