//! The progress of a command: one line on standard error, which is removed at the end.
//! It is written only to a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Shorter work shows no line.
const SOON: Duration = Duration::from_millis(500);

/// How long each picture of a line is shown.
const TURN: Duration = Duration::from_millis(120);

/// The current line. It is hidden while anything else is written.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// How many of all things of a kind are done.
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins to count things of a kind.
    pub fn of(what: &'static str) -> Self {
        Self(line("{pos} of {len} {msg}", what))
    }

    /// Shows how many of all are done, once that has taken longer than a moment.
    pub fn show(&self, done: usize, all: usize) {
        if self.0.is_hidden() && self.0.elapsed() >= SOON {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_length(u64::try_from(all).unwrap_or(u64::MAX));
        self.0.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }
}

impl Progress {
    /// Shows also how many of the done ones failed, the rate, and the time that is left at this rate.
    pub fn show_rate(&self, done: usize, all: usize, failed: usize) {
        self.0.set_message(rate(done, all, failed, self.0.elapsed()));
        self.show(done, all);
    }
}

fn rate(done: usize, all: usize, failed: usize, elapsed: Duration) -> String {
    let mut text = "nodes".to_owned();
    if failed > 0 {
        text.push_str(&format!(", {failed} without an answer"));
    }
    let seconds = elapsed.as_secs_f64();
    if done > 0 && seconds > 0.0 {
        let rate = done as f64 / seconds;
        let left = Duration::from_secs_f64(all.saturating_sub(done) as f64 / rate).as_secs();
        let left = match (left / 3_600, left / 60 % 60, left % 60) {
            (0, 0, seconds) => format!("{seconds}s"),
            (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
            (hours, minutes, _) => format!("{hours}h{minutes}m"),
        };
        text.push_str(&format!(", {rate:.1}/s, {left} left"));
    }
    text
}

impl Drop for Progress {
    fn drop(&mut self) {
        end(&self.0);
    }
}

/// Shows a line while `work` runs, unless it is short.
pub fn waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let bar = line("{spinner} {msg}", what);
    let (done, is_done) = channel::<()>();
    let late = bar.clone();
    let watch = thread::spawn(move || {
        if is_done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
            late.set_draw_target(ProgressDrawTarget::stderr());
            late.enable_steady_tick(TURN);
        }
    });
    let result = work();
    drop(done);
    // It begins no line once it has ended.
    let _ = watch.join();
    end(&bar);
    result
}

/// Hides the line while `write` runs.
pub fn suspended<T>(write: impl FnOnce() -> T) -> T {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match line {
        Some(line) => line.suspend(write),
        None => write(),
    }
}

fn line(template: &str, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is one");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let bar = bar.with_style(style.tick_chars("|/-\\ ")).with_message(what);
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

fn end(bar: &ProgressBar) {
    bar.finish_and_clear();
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_rate_so_far() {
        for (done, all, failed, seconds, expected) in [
            (0, 5_000, 0, 1, "nodes"),
            (10, 5_000, 0, 1, "nodes, 10.0/s, 8m19s left"),
            (10, 50_000, 3, 10, "nodes, 3 without an answer, 1.0/s, 13h53m left"),
            (10, 12, 10, 10, "nodes, 10 without an answer, 1.0/s, 2s left"),
        ] {
            assert_eq!(rate(done, all, failed, Duration::from_secs(seconds)), expected);
        }
    }
}
