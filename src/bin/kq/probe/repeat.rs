//! The flags that repeat probes, and the output of repeated ones.

use super::run::{code, show};
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::OutputFormat;
use crate::write;
use anyhow::anyhow;
use kq_core::question::probes::Targets;
use kq_k8s::duration::GoDuration;
use kq_node::action::probes::{Event, Repetition, RoundResult, repeat};
use kq_probe::view::round_line;

/// The flags that repeat probes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Repetition")]
pub struct RepeatArgs {
    /// Probe this number of times, then print a summary
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Time between two probes: "probe" for each probe's own periodSeconds, or a duration such as 500ms
    #[arg(long, value_name = "probe|DURATION", value_parser = parse_interval)]
    interval: Option<Interval>,

    /// Probe until the kubelet would act: kill the container, or mark it as ready, not ready or started
    #[arg(long, conflicts_with = "watch")]
    until_action: bool,

    /// Probe until interrupted
    #[arg(short, long, conflicts_with = "count")]
    watch: bool,
}

/// The time between two probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    /// `periodSeconds` of each probe.
    Probe,
    /// The same for all.
    Every(GoDuration),
}

impl RepeatArgs {
    /// Returns the repetition; `None`: each probe is sent once.
    /// Fails for an interval without a repetition.
    pub fn repetition(&self) -> Result<Option<Repetition>, Failure> {
        if self.count.is_none() && !self.until_action && !self.watch {
            return match self.interval {
                Some(_) => {
                    Err(Failure::usage(anyhow!("--interval needs --count, --until-action or -w")))
                }
                None => Ok(None),
            };
        }
        let interval = match self.interval {
            Some(Interval::Every(interval)) => Some(interval),
            Some(Interval::Probe) | None => None,
        };
        let (count, until_action) = (self.count, self.until_action);
        Ok(Some(Repetition { count, interval, until_action, forgets_rounds: self.watch }))
    }
}

/// Repeats probes and writes their results.
pub fn run(
    repetition: &Repetition,
    targets: Targets,
    output: OutputFormat,
    wire: bool,
) -> Result<Code, Failure> {
    let is_for_people = output.is_for_people();
    let mut acted = false;
    let run = repeat(targets, repetition, wire, &mut |event| match event {
        Event::Begins(basis) => {
            if is_for_people {
                tell(basis);
            }
            Ok(())
        }
        Event::Round(result) => {
            acted |= result.round().action.is_some();
            show_round(&result, repetition, output)
        }
    })?;
    if repetition.until_action && !acted {
        note("note", "the kubelet would not have acted");
    }
    if is_for_people {
        write::lines([String::new()])?;
    }
    show(&run, output, false)?;
    Ok(code(&run))
}

fn show_round(
    result: &RoundResult<'_>,
    repetition: &Repetition,
    output: OutputFormat,
) -> Result<(), Failure> {
    match (output.is_for_people(), repetition.forgets_rounds) {
        (true, _) => write::lines([round_line(result.round(), result.title().as_deref())]),
        (false, true) => write::answer(output, &result.run()),
        (false, false) => Ok(()),
    }
}

fn parse_interval(text: &str) -> Result<Interval, String> {
    if text == "probe" {
        return Ok(Interval::Probe);
    }
    match text.parse::<GoDuration>() {
        Ok(period) if period.0 > 0 => Ok(Interval::Every(period)),
        _ => Err("expected probe, or a duration of more than 0, such as 500ms or 10s".to_owned()),
    }
}
