//! Answers that are refreshed until kq is interrupted.

use crate::exit::{Code, Failure};
use crate::interval::parse_interval;
use crate::write;
use std::time::Duration;

/// The arguments of answers about a live node.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Refresh until interrupted
    #[arg(short, long, conflicts_with = "snapshot")]
    watch: bool,

    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "watch",
          value_parser = parse_interval)]
    interval: Duration,
}

impl WatchArgs {
    /// Answers once, or again and again; the first failure ends it. A signal ends the process as it always does.
    pub fn run(&self, answer: impl Fn() -> Result<Code, Failure>) -> Result<Code, Failure> {
        if !self.watch {
            return answer();
        }
        loop {
            write::new_screen()?;
            answer()?;
            std::thread::sleep(self.interval);
        }
    }
}
