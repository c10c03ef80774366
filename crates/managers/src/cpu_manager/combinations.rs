//! Combinations of NUMA nodes, in the memory in which the kubelet keeps them (`iterateCombinations` in `cpu_assignment.go`).
//!
//! The kubelet builds a combination by appending to a list of Go, and keeps the best one without copying it. While
//! the list has room, a later combination is written into the same memory, and so over the one that was kept. Rooms double:
//! 1, 2, 4, 8. [`Combination`] acts alike, because the kubelet takes CPUs by what is left of the best combination.

use std::cell::Cell;
use std::rc::Rc;

/// A list of NUMA nodes that may share its memory with others.
#[derive(Clone, Debug)]
pub(super) struct Combination {
    room: Rc<[Cell<i64>]>,
    len: usize,
}

impl Combination {
    fn empty() -> Self {
        Self { room: Rc::from([]), len: 0 }
    }

    /// Appends as Go does: into the room that is left, else into a new one of twice the size.
    fn append(&self, node: i64) -> Self {
        if let Some(cell) = self.room.get(self.len) {
            cell.set(node);
            return Self { room: Rc::clone(&self.room), len: self.len + 1 };
        }
        let size = (self.room.len() * 2).max(1);
        let old = self.iter().chain([node]).chain(std::iter::repeat(0));
        let room = old.take(size).map(Cell::new).collect();
        Self { room, len: self.len + 1 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Walks over the nodes that the memory has now.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        self.room.iter().take(self.len).map(Cell::get)
    }
}

/// What follows after a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next<E> {
    Continue,
    Break,
    /// Not computed.
    Stop(E),
}

/// Visits every combination of so many of the nodes, in the order of their positions.
pub(super) fn each_combination<E>(
    nodes: &[i64],
    size: usize,
    visit: &mut impl FnMut(Combination) -> Next<E>,
) -> Result<(), E> {
    if size == 0 {
        return Ok(());
    }
    match visit_from(nodes, size, Combination::empty(), visit) {
        Next::Stop(reason) => Err(reason),
        Next::Continue | Next::Break => Ok(()),
    }
}

fn visit_from<E>(
    nodes: &[i64],
    missing: usize,
    begun: Combination,
    visit: &mut impl FnMut(Combination) -> Next<E>,
) -> Next<E> {
    let Some(still_missing) = missing.checked_sub(1) else { return visit(begun) };
    let starts = (nodes.len() + 1).saturating_sub(missing);
    for (at, node) in nodes.iter().enumerate().take(starts) {
        let rest = nodes.get(at + 1..).unwrap_or_default();
        match visit_from(rest, still_missing, begun.append(*node), visit) {
            Next::Continue => {}
            stop => return stop,
        }
    }
    Next::Continue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(nodes: &[i64], size: usize) -> (Vec<Vec<i64>>, Vec<Vec<i64>>) {
        let (mut seen, mut lists) = (Vec::new(), Vec::new());
        each_combination(nodes, size, &mut |it: Combination| -> Next<()> {
            seen.push(it.iter().collect());
            lists.push(it);
            Next::Continue
        })
        .expect("nothing stops it");
        (seen, lists.iter().map(|it| it.iter().collect()).collect())
    }

    #[test]
    fn combinations_come_in_order() {
        let (seen, kept) = kept(&[3, 1, 2], 2);
        assert_eq!(seen, [[3, 1], [3, 2], [1, 2]]);
        assert_eq!(kept, seen, "two members are safe");
    }

    #[test]
    fn the_last_of_four_is_written_over() {
        let (seen, kept) = kept(&[0, 1, 2, 3, 4], 4);
        assert_eq!(seen[0], [0, 1, 2, 3]);
        assert_eq!(kept[0], [0, 1, 2, 4], "as [0, 1, 2, 4] has the same first three");
        assert_eq!(kept[2], seen[2]);
    }
}
