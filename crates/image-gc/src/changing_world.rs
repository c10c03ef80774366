//! A property of plan and removal together: whatever changes between one look and the next, nothing goes
//! that is in use or pinned at that moment, and nothing that the plan does not list.

use super::apply::{ImagePresence, ImageRuntime, apply, removals};
use super::cycle::ImageFs;
use super::plan::{Inputs, Trigger, plan};
use super::policy::ImageGcPolicy;
use super::uses::Uses;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Container, Image, RuntimeFacts};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::Workloads;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What happens before a look.
#[derive(Clone, Debug)]
enum Event {
    Nothing,
    Starts(usize),
    Ends(usize),
    Pins(usize, bool),
    Goes(usize),
    Comes(usize),
    Silence,
    Refusal,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Nothing),
        3 => (0..8_usize).prop_map(Event::Starts),
        1 => (0..8_usize).prop_map(Event::Ends),
        2 => (0..8_usize, any::<bool>()).prop_map(|(index, is)| Event::Pins(index, is)),
        1 => (0..8_usize).prop_map(Event::Goes),
        1 => (0..8_usize).prop_map(Event::Comes),
        1 => Just(Event::Silence),
        1 => Just(Event::Refusal),
    ]
}

/// Returns an image's id; some nodes have one without.
fn id(index: usize, has_nameless: bool) -> String {
    if index == 0 && has_nameless { String::new() } else { format!("sha256:{index}") }
}

fn image(id: &str, size: u64, pinned: bool) -> Image {
    let repo_tags = vec![format!("node.test/{id}:1")];
    Image { id: id.to_owned(), repo_tags, size, pinned, ..Image::default() }
}

/// Returns a container that names its image by id or tag.
fn container(id: &str, by_tag: bool) -> Container {
    let image_ref = if by_tag { format!("node.test/{id}:1") } else { id.to_owned() };
    Container { id: format!("of {id}"), image_ref, ..Container::default() }
}

struct Node {
    has_nameless: bool,
    images: Vec<Image>,
    containers: Vec<Container>,
    events: Vec<Event>,
    refuses: bool,
    removed: Vec<String>,
    wrong: Vec<String>,
}

impl Node {
    fn is_used(&self, id: &str) -> bool {
        let tag = format!("node.test/{id}:1");
        self.containers.iter().any(|it| it.image_ref == id || it.image_ref == tag)
    }

    /// Lets something happen; returns whether the runtime answers.
    fn turn(&mut self) -> bool {
        let event = self.events.pop().unwrap_or(Event::Nothing);
        self.refuses = matches!(event, Event::Refusal);
        let id = |index| id(index, self.has_nameless);
        match event {
            Event::Nothing | Event::Refusal => {}
            Event::Silence => return false,
            Event::Starts(index) => self.containers.push(container(&id(index), index % 3 == 0)),
            Event::Ends(index) => {
                let gone = id(index);
                self.containers.retain(|it| it.id != format!("of {gone}"));
            }
            Event::Pins(index, is_pinned) => {
                let id = id(index);
                self.images
                    .iter_mut()
                    .filter(|it| it.id == id)
                    .for_each(|it| it.pinned = is_pinned);
            }
            Event::Goes(index) => {
                let id = id(index);
                self.images.retain(|image| image.id != id);
            }
            Event::Comes(index) => {
                let id = id(index);
                self.images.retain(|image| image.id != id);
                self.images.push(image(&id, 7, index % 2 == 0));
            }
        }
        true
    }
}

/// Looks at a node, in which something happens first.
struct Runtime(RefCell<Node>);

impl ImageRuntime for Runtime {
    fn read(&self, id: &str) -> Result<ImagePresence, String> {
        let mut node = self.0.borrow_mut();
        if !node.turn() {
            return Err("no answer".to_owned());
        }
        let image = node.images.iter().find(|image| image.id == id).cloned();
        Ok(ImagePresence { image, containers: node.containers.clone(), statuses: Vec::new() })
    }

    fn remove(&self, id: &str) -> Result<(), String> {
        let mut node = self.0.borrow_mut();
        let is_pinned = node.images.iter().find(|it| it.id == id).is_none_or(|it| it.pinned);
        if id.is_empty() || is_pinned || node.is_used(id) {
            node.wrong.push(id.to_owned());
        }
        if node.refuses {
            return Err("device busy".to_owned());
        }
        node.removed.push(id.to_owned());
        node.images.retain(|image| image.id != id);
        Ok(())
    }
}

proptest! {
    #[test]
    fn whatever_changes_nothing_in_use_or_pinned_goes(
        images in prop::collection::vec((1..100_u64, any::<bool>(), any::<bool>()), 1..8),
        events in prop::collection::vec(event(), 0..24),
        has_nameless in any::<bool>(),
        is_pressure in any::<bool>(),
        available in 0..200_u64,
        max_age in prop::option::of(1..100_i64),
    ) {
        let listed: Vec<Image> = images
            .iter()
            .enumerate()
            .map(|(index, (size, pinned, _))| image(&id(index, has_nameless), *size, *pinned))
            .collect();
        let containers: Vec<Container> = images
            .iter()
            .enumerate()
            .filter(|(_, (_, _, is_used))| *is_used)
            .map(|(index, _)| container(&id(index, has_nameless), false))
            .collect();
        let facts = RuntimeFacts {
            images: Lookup::found("ListImages", listed.clone().into()),
            containers: Lookup::found("ListContainers", containers.clone().into()),
            ..RuntimeFacts::default()
        };
        let rules = KubeletRules::default();
        let uses = Uses::of(&facts, &Workloads::default(), rules, &BTreeSet::new());
        let fs = ImageFs { capacity: Some(1_000), available: Some(available) };
        let planned = plan(Inputs {
            trigger: if is_pressure { Trigger::Eviction } else { Trigger::Periodic },
            now: Timestamp(GoDuration::MINUTE.0 * 600),
            policy: ImageGcPolicy {
                high_threshold_percent: 85,
                low_threshold_percent: 80,
                min_age: GoDuration(0),
                max_age: GoDuration(GoDuration::MINUTE.0 * max_age.unwrap_or_default()),
            },
            rules,
            kubelet_start: None,
            records: None,
            images: &listed,
            uses: &uses,
            uses_before: &uses,
            image_fs: Ok((fs, "here".to_owned())),
            storage: &Lookup::default(),
            containers: None,
            kept: &BTreeSet::new(),
            reclaim: None,
        });
        let list = removals(&planned, true);
        for removal in &list {
            let index = listed.iter().position(|image| image.id == removal.id);
            let (_, pinned, is_used) = images[index.expect("it is listed")];
            prop_assert!(!pinned && !is_used, "planned: {removal:?}");
        }
        let runtime = Runtime(RefCell::new(Node {
            has_nameless,
            images: listed,
            containers,
            events,
            refuses: false,
            removed: Vec::new(),
            wrong: Vec::new(),
        }));
        let target = planned.run.amount_to_free_bytes.filter(|_| !is_pressure);
        let done = apply(&list, target, &runtime, &mut |_, _, _| {});
        let node = runtime.0.into_inner();
        prop_assert_eq!(done.results.len(), list.len());
        prop_assert_eq!(&node.wrong, &Vec::<String>::new());
        let planned: BTreeSet<&String> = list.iter().map(|removal| &removal.id).collect();
        prop_assert!(node.removed.iter().all(|id| planned.contains(id)), "{:?}", node.removed);
    }
}
