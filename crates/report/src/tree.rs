//! The tree of node, QoS class, pod and container as an icicle, for CPU time as for memory.

use super::icicle::{Branch, Cell, icicle};
use super::mark::{Mark, percent};
use super::text::shown;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The height of a row, in pixels; that of containers has marks below the name.
const ROW: usize = 28;
const LEAF: usize = 36;

/// The classes of pods from left to right.
const CLASSES: [&str; 3] = ["Guaranteed", "Burstable", "BestEffort"];

/// What a cell above the containers is.
enum Owner {
    Node,
    Class(&'static str),
    Pod { class: usize, namespace: String, name: String },
}

/// The containers of a node, by class and pod.
pub struct Tree {
    root: &'static str,
    classes: [Vec<Branch>; 3],
    beside: Vec<(String, Branch)>,
    pods: Vec<Owner>,
}

/// A cell that is narrower, as a part of the width, has no room for a label or for marks.
pub const NARROW: f64 = 0.006;

/// Keys of cells above the containers begin here.
const ABOVE: usize = usize::MAX / 2;

impl Tree {
    /// Returns a tree without pods; `root` is what the top is called.
    pub fn new(root: &'static str) -> Self {
        let pods = vec![
            Owner::Node,
            Owner::Class("Guaranteed"),
            Owner::Class("Burstable"),
            Owner::Class("BestEffort"),
        ];
        Self { root, classes: [Vec::new(), Vec::new(), Vec::new()], beside: Vec::new(), pods }
    }

    /// Adds a container; those of a pod come one after the other.
    pub fn add(&mut self, class: &str, (namespace, name): (&str, &str), key: usize, value: f64) {
        let class = CLASSES.iter().position(|it| *it == class).unwrap_or(2);
        let is_last = match self.pods.last() {
            Some(Owner::Pod { class: its, namespace: own, name: last }) => {
                *its == class && own == namespace && last == name
            }
            _ => false,
        };
        let leaf = Branch { key, value, below: Vec::new() };
        match self.classes[class].last_mut().filter(|_| is_last) {
            Some(pod) => pod.below.push(leaf),
            None => {
                let key = ABOVE + self.pods.len();
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                self.pods.push(Owner::Pod { class, namespace, name });
                self.classes[class].push(Branch { key, value: 0.0, below: vec![leaf] });
            }
        }
    }

    /// Adds what competes with the pods.
    pub fn beside(&mut self, name: String, branch: Branch) {
        self.beside.push((name, branch));
    }

    /// Draws the tree within a whole; `draw` makes the cell of a container and what is inside, `spare` names what is left.
    pub fn draw(
        mut self,
        whole: f64,
        spare: &str,
        draw: impl Fn(usize, f64) -> (Mark, Markup),
    ) -> Markup {
        let mut root = Branch { key: ABOVE, value: 0.0, below: Vec::new() };
        let classes = self.classes.into_iter().enumerate();
        for (at, below) in classes.filter(|(_, pods)| !pods.is_empty()) {
            let mut class = Branch { key: ABOVE + 1 + at, value: 0.0, below };
            class.sort();
            root.below.push(class);
        }
        let mut trees = vec![root];
        trees.extend(self.beside.iter().map(|(_, branch)| branch.clone()));
        let cells = icicle(&trees, whole);
        let used: f64 = cells.iter().filter(|cell| cell.row == 0).map(|cell| cell.width).sum();
        let height = 3 * ROW + LEAF;
        let beside = self.beside.iter().rev().map(|(name, branch)| (branch.key, name.as_str()));
        let beside: BTreeMap<usize, &str> = beside.collect();
        let owners = std::mem::take(&mut self.pods);
        html! {
            svg.icicle width="100%" height=(height) {
                @for cell in &cells { @if cell.width > 0.0 {
                    @match owners.get(cell.key.wrapping_sub(ABOVE)) {
                        Some(owner) => (above(self.root, owner, cell)),
                        None => {
                            @let (mark, inside) = draw(cell.key, cell.width);
                            (leaf(mark, inside, beside.get(&cell.key).copied(), cell))
                        },
                    }
                } }
                @if used < 0.9995 {
                    svg.cell.spare x=(percent(used)) y="0" width=(percent(1.0 - used)) height=(ROW) {
                        rect {}
                        text x="7" y="19" { (spare) }
                    }
                }
            }
        }
    }
}

fn place(mark: Mark, cell: &Cell, height: usize) -> Mark {
    mark.class_if(cell.width < NARROW, "thin")
        .across(cell.start, cell.width)
        .with("y", (cell.row * ROW).to_string())
        .with("height", height.to_string())
}

fn above(root: &str, owner: &Owner, cell: &Cell) -> Markup {
    let (mark, label) = match owner {
        Owner::Node => (Mark::new("svg", "cell group"), root.to_owned()),
        Owner::Class(class) => {
            (Mark::new("svg", &format!("cell group {}", qos_class(class))), (*class).to_owned())
        }
        Owner::Pod { class, namespace, name } => (
            Mark::new("svg", &format!("cell group {}", qos_class(CLASSES[*class])))
                .of_pod(namespace, name),
            shown(name),
        ),
    };
    place(mark, cell, ROW)
        .holding(html! { rect {} @if cell.width >= NARROW { text x="7" y="19" { (label) } } })
}

fn leaf(mark: Mark, inside: Markup, name: Option<&str>, cell: &Cell) -> Markup {
    let height = if cell.row == 0 { 3 * ROW + LEAF } else { LEAF };
    let mark = place(mark, cell, height);
    let label = name.map(str::to_owned).unwrap_or_else(|| mark.name().to_owned());
    mark.holding(
        html! { rect {} @if cell.width >= NARROW { (inside) text x="7" y="17" { (label) } } },
    )
}

/// Returns the class of elements of a QoS class.
pub fn qos_class(class: &str) -> &'static str {
    match class {
        "Guaranteed" => "q-guaranteed",
        "Burstable" => "q-burstable",
        "BestEffort" => "q-besteffort",
        _ => "q-none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_stand_below_their_pods() {
        let mut tree = Tree::new("kubepods");
        tree.add("Burstable", ("shop", "web"), 0, 1.0);
        tree.add("Burstable", ("shop", "web"), 1, 1.0);
        tree.add("Guaranteed", ("shop", "web"), 2, 2.0);
        let drawn = tree.draw(8.0, "idle", |key, _| {
            (Mark::new("svg", "cell").called(format!("c{key}")), html! {})
        });
        let text = drawn.0;
        assert_eq!(text.matches("data-pod=\"shop/web\"").count(), 2, "{text}");
        assert!(
            text.contains("x=\"50%\" y=\"0\" width=\"50%\" height=\"28\"><rect"),
            "the rest is idle: {text}"
        );
        let c1 = "data-name=\"c1\" x=\"37.5%\" width=\"12.5%\" y=\"84\" height=\"36\"";
        assert!(text.contains(c1), "{text}");
    }
}
