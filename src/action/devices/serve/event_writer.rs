//! Writing events, no faster than they can be read.

use crate::answer::Failure;
use crate::device::fake_kubelet::{Event, Throttle, TimedEvent};
use crate::edge::clock::moment;

type Emit<'e> = &'e mut dyn FnMut(&TimedEvent) -> Result<(), Failure>;

pub(super) struct EventWriter<'e> {
    emit: Emit<'e>,
    throttle: Throttle,
}

impl<'e> EventWriter<'e> {
    pub(super) fn new(emit: Emit<'e>) -> Self {
        Self { emit, throttle: Throttle::default() }
    }

    /// Writes events.
    pub(super) fn write(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), Failure> {
        self.flush()?;
        for event in events {
            if !event.may_flood() || self.throttle.admits(moment()) {
                self.write_one(event)?;
            }
        }
        Ok(())
    }

    /// Writes the number of held-back events, once there is room for it.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        match self.throttle.held_back(moment()) {
            Some(lines) => self.write_one(Event::HeldBack { lines }),
            None => Ok(()),
        }
    }

    /// Returns true if held-back events are still to be counted.
    pub(super) fn has_pending(&self) -> bool {
        self.throttle.owes()
    }

    fn write_one(&mut self, event: Event) -> Result<(), Failure> {
        (self.emit)(&TimedEvent { time: moment(), event })
    }
}
