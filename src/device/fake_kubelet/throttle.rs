//! The rate limit of events: a flooding plugin must fill neither the terminal nor the disk.

use crate::facts::timestamp::Timestamp;

/// Lines in a second.
const AT_MOST: usize = 200;

/// A second.
const WINDOW: i64 = 1_000_000_000;

/// Counts lines, and those that were held back.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    began: Option<Timestamp>,
    told: usize,
    held_back: usize,
}

impl Throttle {
    /// Returns true if one more event may be written now.
    pub fn admits(&mut self, now: Timestamp) -> bool {
        // A clock that was set back begins again.
        let fresh = self.began.is_none_or(|began| !(0..WINDOW).contains(&now.since(began)));
        if fresh {
            (self.began, self.told) = (Some(now), 0);
        }
        let admitted = self.told < AT_MOST;
        if admitted {
            self.told += 1;
        } else {
            self.held_back += 1;
        }
        admitted
    }

    /// Returns how many were held back, once there is room to say so; then they are forgotten.
    pub fn held_back(&mut self, now: Timestamp) -> Option<usize> {
        let began = self.began?;
        let over = !(0..WINDOW).contains(&now.since(began));
        (over && self.held_back > 0).then(|| std::mem::take(&mut self.held_back))
    }

    /// Returns true if held-back events are to be counted when the second is over.
    pub fn owes(&self) -> bool {
        self.held_back > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_back_is_counted() {
        let mut throttle = Throttle::default();
        let at = |milliseconds: i64| Timestamp(milliseconds * 1_000_000);
        let admitted = (0..1_000).filter(|_| throttle.admits(at(5))).count();
        assert_eq!(admitted, AT_MOST);
        assert!(throttle.owes());
        assert_eq!(throttle.held_back(at(900)), None, "the second is not over");
        assert_eq!(throttle.held_back(at(1_005)), Some(800));
        assert_eq!(throttle.held_back(at(1_006)), None);
        assert!(throttle.admits(at(1_010)) && !throttle.owes());
        assert!(throttle.admits(at(3)), "the clock was set back");
    }
}
