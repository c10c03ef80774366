//! Telling what happens.

use super::Lines;
use crate::exit::Failure;
use crate::write;
use kq::device::fake_kubelet::{Event, Throttle, TimedEvent};
use kq::edge::clock::moment;

/// Tells what happens, and not more than can be read.
pub struct EventWriter {
    lines: Lines,
    throttle: Throttle,
}

impl EventWriter {
    /// Begins with nothing told.
    pub fn new(lines: Lines) -> Self {
        Self { lines, throttle: Throttle::default() }
    }

    /// Tells what happened.
    ///
    /// # Errors
    ///
    /// Fails when nobody reads any more.
    pub fn tell(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), Failure> {
        self.settle()?;
        for event in events {
            if !event.may_flood() || self.throttle.admits(moment()) {
                self.write(event)?;
            }
        }
        Ok(())
    }

    /// Tells how many lines were held back, once there is room for it.
    ///
    /// # Errors
    ///
    /// Fails when nobody reads any more.
    pub fn settle(&mut self) -> Result<(), Failure> {
        match self.throttle.held_back(moment()) {
            Some(lines) => self.write(Event::HeldBack { lines }),
            None => Ok(()),
        }
    }

    /// Tells whether something is still to be said.
    pub fn owes(&self) -> bool {
        self.throttle.owes()
    }

    fn write(&self, event: Event) -> Result<(), Failure> {
        let told = TimedEvent { time: moment(), event };
        match self.lines {
            Lines::Text => write::text(format!("{told}\n")),
            Lines::Json => write::line(&told),
        }
    }
}
