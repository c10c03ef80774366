//! Runs the kubelet's loop of image garbage collection.

use super::apply::{self, RemovalOptions, prepare};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_core::question::image_gc::ImageGcOptions;
use kq_facts::node::Node;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::loops::{GcLoop, Outcome, Pass};
use kq_image_gc::plan::ImageGcPlan;
use kq_image_gc::policy::ImageGcPolicy;
use kq_io::clock::{now, pause};
use std::time::Duration;

/// Options of the loop.
#[derive(Debug)]
pub struct WatchOptions {
    /// The collection of each pass.
    pub question: ImageGcOptions,
    /// The limits of each removal.
    pub removal: RemovalOptions,
    /// Removes the images of each pass.
    pub is_removing: bool,
    /// The time between the end of a pass and the next pass.
    pub interval: Duration,
    /// The number of passes; `None`: without end.
    pub passes: Option<u64>,
}

/// Progress of the loop.
#[derive(Debug)]
pub enum Event<'a> {
    /// The first plan was made.
    Begun(&'a ImageGcPlan),
    /// The policy turns the loop off: it ends here.
    Off,
    /// Images may be removed from here on.
    Removing,
    /// A step of the removal is done.
    Removal(apply::Event<'a>),
    /// A pass without data, which the loop counts as failed: its text.
    Failed(String),
    /// A pass is done.
    Pass(&'a Pass),
}

/// Runs the loop. `gather` reads the node for each pass.
///
/// # Errors
///
/// Fails if the first pass lacks data, and as `observe` does.
pub fn watch(
    options: &WatchOptions,
    gather: &mut dyn FnMut() -> Result<Node, Failure>,
    observe: &mut dyn FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut gc_loop = None;
    let mut number = 0;
    loop {
        number += 1;
        let is_on = pass(options, number, &mut gc_loop, gather, observe)?;
        if !is_on || options.passes == Some(number) {
            return Ok(());
        }
        pause(options.interval);
    }
}

/// Runs one pass. Returns false if the policy turns the loop off.
fn pass(
    options: &WatchOptions,
    number: u64,
    gc_loop: &mut Option<GcLoop>,
    gather: &mut dyn FnMut() -> Result<Node, Failure>,
    observe: &mut dyn FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let prepared = gather().and_then(|node| prepare(node, &options.question, &options.removal));
    let prepared = match prepared {
        Ok(prepared) => prepared,
        // A runtime that is unavailable may answer the next pass.
        Err(failure) => {
            return observe(Event::Failed(failed(number, gc_loop.as_mut(), failure)?))
                .map(|()| true);
        }
    };
    if gc_loop.is_none() {
        *gc_loop = GcLoop::images(&ImageGcPolicy::of(prepared.node().config()));
        observe(Event::Begun(prepared.plan()))?;
    }
    let Some(gc_loop) = gc_loop else { return observe(Event::Off).map(|()| false) };
    // Without its measurements, the kubelet fails and removes nothing for space.
    let unknown = prepared.unknown();
    if number == 1
        && let Some(reason) = &unknown
    {
        return Err(prepared.with_hint(Failure::missing(anyhow!(reason.clone()))));
    }
    if options.is_removing {
        observe(Event::Removing)?;
    }
    let removed = match options.is_removing && unknown.is_none() {
        // The removal goes on if its progress cannot be shown.
        true => match prepared.execute(&mut |event| drop(observe(Event::Removal(event)))) {
            Ok(removed) => Some(removed),
            Err(failure) => {
                let failed = failed(number, Some(gc_loop), failure)?;
                return observe(Event::Failed(failed)).map(|()| true);
            }
        },
        false => None,
    };
    let plan = prepared.planned.plan;
    let failure = removed.as_ref().and_then(|report| report.failure());
    let short = removed.as_ref().filter(|report| report.is_short());
    let short = short.map(|report| {
        let wanted = report.target_bytes.unwrap_or_default();
        format!("wanted to free {wanted} bytes, but freed {} bytes", report.counted_bytes)
    });
    let error = unknown.or(failure).or_else(|| plan.outcome.error.clone()).or(short);
    let ended: Timestamp = now().parse().map_err(Failure::missing)?;
    let step = gc_loop.step(ended.0, error.as_deref().map_or(Ok(()), Err));
    observe(Event::Pass(&Pass::new(number, plan, removed, step.outcome))).map(|()| true)
}

/// Returns the line about a pass without data, which the loop counts as failed: the kubelet lacks the same data.
/// Before the first plan there is no loop, and the failure is returned.
fn failed(number: u64, gc_loop: Option<&mut GcLoop>, failure: Failure) -> Result<String, Failure> {
    let Some(gc_loop) = gc_loop else { return Err(failure) };
    let ended: Timestamp = now().parse().map_err(Failure::missing)?;
    let reason = failure.reason();
    let event = match gc_loop.step(ended.0, Err(&reason)).outcome {
        Outcome::FailedWithEvent(event) => format!(", an event {}", event.reason),
        _ => String::new(),
    };
    Ok(format!("pass {number} failed{event}: {reason}"))
}
