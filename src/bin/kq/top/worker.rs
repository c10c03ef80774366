//! Gathers and answers, apart from the keys and the screen.

use crate::exit::Failure;
use kq::action::top::{Next, Source, rest_after};
use kq::edge::clock::{now, steady};
use kq::edge::snapshot_file::write_snapshot;
use kq::node::Needs;
use kq::output::value::json_line;
use kq::question::top::{PlannedShares, TopOptions, derivation, explanation, frame, panel_needs};
use kq::top::{Frame, Page, Panel};
use std::time::Duration;

/// The source of frames, and the options that describe its node.
pub struct Worker {
    source: Source,
    options: TopOptions,
    planned: PlannedShares,
}

/// A frame, and when the next one is due.
pub struct Refreshed {
    pub frame: Frame,
    pub next_in: Option<Duration>,
}

impl Worker {
    pub fn new(source: Source, options: TopOptions) -> Self {
        Self { source, options, planned: PlannedShares::default() }
    }

    /// Returns the next frame; `None`: the recording is over.
    pub fn frame(&mut self, panel: Panel, is_same: bool) -> Result<Option<Refreshed>, Failure> {
        let Some(Next { snapshot, took, next_in }) = self.source.next(panel, is_same)? else {
            return Ok(None);
        };
        let began = steady();
        let frame = frame(&snapshot, panel, &self.options, &mut self.planned)?;
        let next_in = match self.options.is_stored {
            true => next_in,
            false => next_in.map(|next_in| next_in.max(rest_after(took + began.elapsed()))),
        };
        Ok(Some(Refreshed { frame, next_in }))
    }

    /// Returns the explanation of a pod.
    pub fn explain(&mut self, pod: &str) -> Result<Page, Failure> {
        let lines = explanation(&self.source.for_page()?, pod, &self.options)?;
        Ok(Page::new(format!("kq doctor {pod}"), lines))
    }

    /// Returns the arithmetic of the values of a pod.
    pub fn derive(&mut self, pod: &str) -> Result<Page, Failure> {
        let snapshot = self.source.facts(panel_needs(Panel::Pods))?;
        let lines = derivation(&snapshot, pod, &self.options)?;
        Ok(Page::new(format!("kq cgroup plan {pod} -o wide"), lines))
    }

    /// Stores a snapshot in the current folder as `kq snapshot` does; returns its name.
    pub fn store(&mut self) -> Result<String, Failure> {
        let path = format!("kq-{}.json.zst", now().replace(':', ""));
        let snapshot = self.source.facts(Needs::ALL)?;
        let json = json_line(&snapshot).map_err(Failure::missing)?;
        write_snapshot(&path, &json).map_err(Failure::missing)?;
        Ok(path)
    }
}
