//! The containers of a node by namespace and pod as an icicle, for CPU time as for memory.

use super::icicle::{Branch, Cell, icicle};
use super::mark::{Mark, percent};
use super::text::shown;
use kq_k8s::qos::QosClass;
use kq_output::units::counted;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// The height of a row, in pixels; that of containers has marks below the name.
const ROW: usize = 28;
const LEAF: usize = 36;

/// So many pods have a cell of their own, the largest. The others of a namespace are one cell, and so are the namespaces
/// that have none of them.
const LARGEST: usize = 10;

/// What a cell above the containers is.
enum Owner {
    Node,
    Namespace(String),
    Pod {
        class: &'static str,
        namespace: String,
        name: String,
    },
    /// Pods without a cell of their own.
    Rest {
        pods: usize,
        namespaces: usize,
    },
}

struct Pod {
    namespace: String,
    name: String,
    class: &'static str,
    containers: Vec<Branch>,
}

impl Pod {
    fn total(&self) -> f64 {
        self.containers.iter().map(Branch::total).sum()
    }
}

/// The containers of a node, by namespace and pod.
pub struct Tree {
    root: &'static str,
    pods: Vec<Pod>,
    beside: Vec<(String, Branch)>,
}

/// A cell that is narrower, as a part of the width, has no room for a label or for marks.
pub const NARROW: f64 = 0.006;

/// Keys of cells above the containers begin here.
const ABOVE: usize = usize::MAX / 2;

impl Tree {
    /// Returns a tree without pods; `root` is what the top is called.
    pub fn new(root: &'static str) -> Self {
        Self { root, pods: Vec::new(), beside: Vec::new() }
    }

    /// Adds a container; those of a pod come one after the other.
    pub fn add(
        &mut self,
        class: Option<QosClass>,
        (namespace, name): (&str, &str),
        key: usize,
        value: f64,
    ) {
        let leaf = Branch { key, value, below: Vec::new() };
        let is_same = |pod: &&mut Pod| pod.namespace == namespace && pod.name == name;
        match self.pods.last_mut().filter(is_same) {
            Some(pod) => pod.containers.push(leaf),
            None => self.pods.push(Pod {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                class: qos_class(class),
                containers: vec![leaf],
            }),
        }
    }

    /// Adds what competes with the pods.
    pub fn beside(&mut self, name: String, branch: Branch) {
        self.beside.push((name, branch));
    }

    /// Returns the pods as a tree, the largest first, and what its cells are.
    fn branches(&mut self) -> (Branch, Vec<Owner>) {
        let mut owners = vec![Owner::Node];
        let mut add = |owner: Owner, value: f64, below: Vec<Branch>| {
            owners.push(owner);
            Branch { key: ABOVE + owners.len() - 1, value, below }
        };
        let mut pods = std::mem::take(&mut self.pods);
        pods.sort_by(|one, other| other.total().total_cmp(&one.total()));
        // A cell of its own takes no more room than a rest of one pod.
        let named = if pods.len() <= LARGEST + 1 { pods.len() } else { LARGEST };
        let rest = pods.split_off(named);
        let mut namespaces: BTreeMap<String, Vec<Branch>> = BTreeMap::new();
        for Pod { namespace, name, class, mut containers } in pods {
            containers.sort_by(|one, other| other.value.total_cmp(&one.value));
            let owner = Owner::Pod { class, namespace: namespace.clone(), name };
            let branch = add(owner, 0.0, containers);
            namespaces.entry(namespace).or_default().push(branch);
        }
        let sum = |pods: &[&Pod]| pods.iter().map(|pod| pod.total()).sum::<f64>();
        let (within, without): (Vec<&Pod>, Vec<&Pod>) =
            rest.iter().partition(|pod| namespaces.contains_key(&pod.namespace));
        let mut below: Vec<Branch> = Vec::new();
        for (namespace, mut named) in namespaces {
            let own = within.iter().filter(|pod| pod.namespace == namespace);
            let own: Vec<&Pod> = own.copied().collect();
            named.sort_by(|one, other| other.total().total_cmp(&one.total()));
            if !own.is_empty() {
                let owner = Owner::Rest { pods: own.len(), namespaces: 0 };
                named.push(add(owner, sum(&own), Vec::new()));
            }
            below.push(add(Owner::Namespace(namespace), 0.0, named));
        }
        below.sort_by(|one, other| other.total().total_cmp(&one.total()));
        if !without.is_empty() {
            let namespaces: BTreeSet<&str> =
                without.iter().map(|pod| pod.namespace.as_str()).collect();
            let owner = Owner::Rest { pods: without.len(), namespaces: namespaces.len() };
            below.push(add(owner, sum(&without), Vec::new()));
        }
        (Branch { key: ABOVE, value: 0.0, below }, owners)
    }

    /// Draws the tree within a whole; `draw` makes the cell of a container and what is inside, `spare` names what is left.
    pub fn draw(
        mut self,
        whole: f64,
        spare: &str,
        draw: impl Fn(usize, f64) -> (Mark, Markup),
    ) -> Markup {
        let (root, owners) = self.branches();
        let mut trees = vec![root];
        trees.extend(self.beside.iter().map(|(_, branch)| branch.clone()));
        let cells = icicle(&trees, whole);
        let used: f64 = cells.iter().filter(|cell| cell.row == 0).map(|cell| cell.width).sum();
        let height = 3 * ROW + LEAF;
        let beside = self.beside.iter().rev().map(|(name, branch)| (branch.key, name.as_str()));
        let beside: BTreeMap<usize, &str> = beside.collect();
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
    mark.thin_if(cell.width < NARROW)
        .across(cell.start, cell.width)
        .with("y", (cell.row * ROW).to_string())
        .with("height", height.to_string())
}

fn above(root: &str, owner: &Owner, cell: &Cell) -> Markup {
    let mark = |class: &str| Mark::new("svg", &format!("cell group {class}"));
    let (mark, label, height) = match owner {
        Owner::Node => (mark(""), root.to_owned(), ROW),
        Owner::Namespace(name) => (mark(""), shown(name), ROW),
        Owner::Pod { class, namespace, name } => {
            (mark(class).of_pod(namespace, name), shown(name), ROW)
        }
        Owner::Rest { pods, namespaces } => {
            let pods = counted(*pods, "more pod");
            let label = match namespaces {
                0 => pods,
                more => format!("{pods} in {}", counted(*more, "more namespace")),
            };
            // Down to the foot of the picture.
            (mark("rest").called(label.clone()), label, (3 - cell.row) * ROW + LEAF)
        }
    };
    place(mark, cell, height)
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
pub fn qos_class(class: Option<QosClass>) -> &'static str {
    match class {
        Some(QosClass::Guaranteed) => "q-guaranteed",
        Some(QosClass::Burstable) => "q-burstable",
        Some(QosClass::BestEffort) => "q-besteffort",
        None => "q-none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_stand_below_their_pods() {
        let mut tree = Tree::new("kubepods");
        tree.add(Some(QosClass::Burstable), ("shop", "web"), 0, 1.0);
        tree.add(Some(QosClass::Burstable), ("shop", "web"), 1, 1.0);
        tree.add(Some(QosClass::Guaranteed), ("ml", "train"), 2, 2.0);
        let drawn = tree.draw(8.0, "idle", |key, _| {
            (Mark::new("svg", "cell").called(format!("c{key}")), html! {})
        });
        let text = drawn.0;
        assert_eq!(text.matches("data-pod=\"shop/web\"").count(), 1, "{text}");
        assert!(
            text.contains("x=\"50%\" y=\"0\" width=\"50%\" height=\"28\"><rect"),
            "the rest is idle: {text}"
        );
        let c1 = "data-name=\"c1\" x=\"37.5%\" width=\"12.5%\" y=\"84\" height=\"36\"";
        assert!(text.contains(c1), "{text}");
    }

    #[test]
    fn the_largest_have_cells_and_the_others_are_counted() {
        let mut tree = Tree::new("kubepods");
        for at in 0..30 {
            let namespace = if at < 20 { "shop".to_owned() } else { format!("team-{at}") };
            tree.add(
                Some(QosClass::Burstable),
                (&namespace, &format!("p{at}")),
                at,
                100.0 - at as f64,
            );
        }
        let drawn = tree.draw(0.0, "idle", |key, _| {
            (Mark::new("svg", "cell").called(format!("c{key}")), html! {})
        });
        let text = drawn.0;
        assert_eq!(text.matches("data-name=\"c").count(), LARGEST, "{text}");
        assert!(text.contains(">10 more pods<"), "{text}");
        assert!(text.contains(">10 more pods in 10 more namespaces<"), "{text}");
    }
}
