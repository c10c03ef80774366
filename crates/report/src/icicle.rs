//! The layout of an icicle: a tree in rows, the widths of siblings in proportion to their values.

/// A node of the tree.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// The value of a leaf; of others it is the sum of those below.
    pub value: f64,
    /// The nodes below, from left to right.
    pub below: Vec<Branch>,
    /// What the caller knows it by.
    pub key: usize,
}

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The key of the node.
    pub key: usize,
    /// The row, from 0 at the top.
    pub row: usize,
    /// The left end, as a part of the whole width.
    pub start: f64,
    /// The width, as a part of the whole width.
    pub width: f64,
}

impl Branch {
    /// Returns the value of the node.
    pub fn total(&self) -> f64 {
        match self.below.is_empty() {
            true => self.value.max(0.0),
            false => self.below.iter().map(Branch::total).sum(),
        }
    }
}

/// Lays the trees out from left to right, within a whole that is at least as much as they have.
pub fn icicle(trees: &[Branch], whole: f64) -> Vec<Cell> {
    let sum: f64 = trees.iter().map(Branch::total).sum();
    let whole = whole.max(sum);
    let mut cells = Vec::new();
    if whole <= 0.0 {
        return cells;
    }
    let mut start = 0.0;
    for tree in trees {
        start += place(tree, 0, start, whole, &mut cells);
    }
    cells
}

fn place(tree: &Branch, row: usize, start: f64, whole: f64, cells: &mut Vec<Cell>) -> f64 {
    let width = tree.total() / whole;
    cells.push(Cell { key: tree.key, row, start, width });
    let mut left = start;
    for below in &tree.below {
        left += place(below, row + 1, left, whole, cells);
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(key: usize, value: f64) -> Branch {
        Branch { key, value, below: Vec::new() }
    }

    #[test]
    fn widths_are_in_proportion_and_the_rest_is_free() {
        let pod = Branch { key: 1, value: 0.0, below: vec![leaf(3, 2.0), leaf(2, 1.0)] };
        let cells = icicle(&[pod, leaf(4, 1.0)], 8.0);
        let seen: Vec<_> = cells.iter().map(|it| (it.key, it.row, it.start, it.width)).collect();
        let expected = [(1, 0, 0.0, 0.375), (3, 1, 0.0, 0.25), (2, 1, 0.25, 0.125)];
        assert_eq!(seen[..3], expected);
        assert_eq!(seen[3], (4, 0, 0.375, 0.125));
    }

    #[test]
    fn nothing_has_no_cells() {
        assert!(icicle(&[leaf(1, 0.0)], 0.0).is_empty());
        assert!(icicle(&[], 4.0).is_empty());
    }

    proptest! {
        #[test]
        fn siblings_do_not_overlap_and_stay_within_their_parent(
            values in prop::collection::vec(prop::collection::vec(0.0..1e12_f64, 1..8), 1..8),
            spare in 0.0..1e12_f64,
        ) {
            let trees: Vec<Branch> = values.iter().enumerate().map(|(at, values)| {
                let below = values.iter().enumerate().map(|(of, value)| leaf(100 * (at + 1) + of, *value));
                Branch { key: at, value: 0.0, below: below.collect() }
            }).collect();
            let sum: f64 = trees.iter().map(Branch::total).sum();
            let whole = sum + spare;
            let cells = icicle(&trees, whole);
            for row in 0..2 {
                let mut end = -1e-9;
                for cell in cells.iter().filter(|cell| cell.row == row) {
                    prop_assert!(cell.start >= end - 1e-9, "{cell:?} begins before {end}");
                    end = cell.start + cell.width;
                    prop_assert!(end <= 1.0 + 1e-9);
                }
            }
            for cell in cells.iter().filter(|cell| cell.row == 1) {
                let (at, of) = (cell.key / 100 - 1, cell.key % 100);
                prop_assert!((cell.width * whole - values[at][of]).abs() <= 1e-6 * whole);
                let parent = cells.iter().find(|it| it.row == 0 && it.key == at).expect("its parent");
                prop_assert!(cell.start >= parent.start - 1e-9);
                prop_assert!(cell.start + cell.width <= parent.start + parent.width + 1e-9);
            }
        }
    }
}
