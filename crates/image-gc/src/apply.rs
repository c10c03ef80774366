//! Removes the images of a plan, one after the other.
//!
//! Runtimes refuse nothing: containerd removes an image that is in use, or pinned, as soon as it is
//! requested. So kq reads the state again right before each removal, and an image whose state is unreadable
//! is kept. Only images of the plan are removed.

use crate::knowledge::Tristate;
use crate::plan::{ImageGcPlan, PlannedImage, Verdict};
use crate::uses::state_text;
use kq_answer::Certainty;
use kq_facts::runtime::{Container, ContainerStatus, Image};
use serde::Serialize;
use std::collections::BTreeSet;

/// An image that is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// The ID for the runtime.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// All its tags and digests.
    pub names: Vec<String>,
    /// What the kubelet counts for it, in bytes.
    pub size_bytes: i64,
    /// It goes until enough space is free; otherwise it goes for its age, at any use of the disk.
    pub for_space: bool,
}

/// The present state of an image and of its possible users.
#[derive(Clone, Debug, Default)]
pub struct ImagePresence {
    /// The image; `None`: it is gone.
    pub image: Option<Image>,
    /// All containers, in every state.
    pub containers: Vec<Container>,
    /// The status of each container; only read where images can be volumes.
    pub statuses: Vec<ContainerStatus>,
}

/// The runtime for the removal of images.
pub trait ImageRuntime {
    /// Reads an image and all containers.
    fn read(&self, id: &str) -> Result<ImagePresence, String>;

    /// Removes an image by its id.
    fn remove(&self, id: &str) -> Result<(), String>;
}

/// The result for an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum Removed {
    /// It was removed.
    Removed,
    /// It was gone already.
    Gone,
    /// It was kept.
    Kept {
        /// Why.
        reason: String,
    },
    /// Its users could not be read, so it was kept.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The runtime did not remove it.
    Failed {
        /// Why.
        reason: String,
    },
    /// Its turn did not come.
    Left,
}

/// The results of all images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removals {
    /// One for each image of the list.
    pub results: Vec<Removed>,
    /// The sizes of those that were removed, as the kubelet counts.
    pub counted_bytes: i64,
    /// Why it ended before the end of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// This many unreadable states in a row stop the removal: the runtime is gone.
pub const UNREADABLE_AT_MOST: usize = 2;

/// Returns what a plan removes, in its order.
///
/// Without `with_unsure`, images are left out of which it is unknown whether the kubelet would
/// take them yet: those that may be younger than the minimum age, such as one that was pulled a moment ago
/// for a pod that is about to start; and those that may not be old enough for the age pass. In which order
/// images go does not matter here: all of them are unused, and old enough.
pub fn removals(plan: &ImageGcPlan, with_unsure: bool) -> Vec<Removal> {
    let removal = |item: &PlannedImage| Removal {
        id: item.id.clone(),
        name: item.name().to_owned(),
        names: item.tags.iter().chain(&item.digests).cloned().collect(),
        size_bytes: item.size_bytes,
        for_space: item.verdict == Verdict::RemovedForSpace,
    };
    let goes = |item: &&PlannedImage| {
        item.verdict.is_removal() && (with_unsure || is_old_enough(item, plan))
    };
    plan.items.iter().filter(goes).map(removal).collect()
}

/// Returns the number of images that are left out without `with_unsure`.
pub fn unsure(plan: &ImageGcPlan) -> usize {
    let unsure = |item: &&PlannedImage| item.verdict.is_removal() && !is_old_enough(item, plan);
    plan.items.iter().filter(unsure).count()
}

fn is_old_enough(item: &PlannedImage, plan: &ImageGcPlan) -> bool {
    match item.verdict {
        Verdict::RemovedForAge => item.certainty == Certainty::Certain,
        _ => item.known.is_some_and(|known| {
            known.is_younger(plan.run.minimum_age, plan.at) == Tristate::Never
        }),
    }
}

/// Removes images until enough space is freed, as the kubelet counts; `None`: all of them. Goes on after
/// one that fails, and stops when the runtime does not answer any more.
pub fn apply(
    list: &[Removal],
    target: Option<i64>,
    runtime: &dyn ImageRuntime,
    tell: &mut dyn FnMut(usize, &Removal, &Removed),
) -> Removals {
    let mut done = Removals::default();
    let mut unreadable = 0;
    // Nothing is freed yet, which is less than enough even where less than nothing is wanted.
    let mut for_space: Option<i64> = None;
    for (index, removal) in list.iter().enumerate() {
        let is_enough = for_space.zip(target).is_some_and(|(freed, target)| freed >= target);
        if done.stopped.is_some() || is_enough && removal.for_space {
            done.results.push(Removed::Left);
            continue;
        }
        let result = one(removal, runtime);
        match &result {
            Removed::Removed => {
                done.counted_bytes = done.counted_bytes.saturating_add(removal.size_bytes);
                if removal.for_space {
                    let freed = for_space.unwrap_or_default();
                    for_space = Some(freed.saturating_add(removal.size_bytes));
                }
            }
            Removed::Unreadable { reason } => {
                unreadable += 1;
                if unreadable >= UNREADABLE_AT_MOST {
                    done.stopped = Some(reason.clone());
                }
            }
            _ => {}
        }
        if !matches!(result, Removed::Unreadable { .. }) {
            unreadable = 0;
        }
        tell(index, removal, &result);
        done.results.push(result);
    }
    done
}

fn one(removal: &Removal, runtime: &dyn ImageRuntime) -> Removed {
    // A runtime may treat an empty id as any image; kq does not query it.
    if removal.id.is_empty() {
        return Removed::Kept { reason: "it has no id".to_owned() };
    }
    let presence = match runtime.read(&removal.id) {
        Ok(presence) => presence,
        Err(reason) => return Removed::Unreadable { reason },
    };
    match check(removal, &presence) {
        Err(result) => result,
        Ok(()) => match runtime.remove(&removal.id) {
            Ok(()) => Removed::Removed,
            Err(reason) => Removed::Failed { reason },
        },
    }
}

/// Decides whether an image may go now.
/// Fails with the result instead.
pub fn check(removal: &Removal, presence: &ImagePresence) -> Result<(), Removed> {
    let kept = |reason: String| Err(Removed::Kept { reason });
    let Some(image) = &presence.image else { return Err(Removed::Gone) };
    if removal.id.is_empty() || image.id != removal.id {
        return kept(format!("the runtime answers with another image, {:?}", image.id));
    }
    if image.pinned {
        return kept("it is pinned now".to_owned());
    }
    if let Some(error) = presence.statuses.iter().find_map(|status| status.error.as_ref()) {
        let reason = format!("the status of a container could not be read: {error}");
        return Err(Removed::Unreadable { reason });
    }
    // What the runtime calls it now, and what it was called when the plan was made: a container that
    // names it in any way is one that uses it, even where the kubelet would not see that.
    let names: BTreeSet<&str> = [removal.id.as_str()]
        .into_iter()
        .chain(removal.names.iter().map(String::as_str))
        .chain(image.repo_tags.iter().chain(&image.repo_digests).map(String::as_str))
        .filter(|name| !name.is_empty())
        .collect();
    let is_it = |name: &str| names.contains(name);
    let user = presence.containers.iter().find(|container| {
        is_it(&container.image_ref)
            || container.image_id.as_deref().is_some_and(is_it)
            // What was asked for may have become another image since; only without a better name it
            // counts.
            || (container.image_ref.is_empty() && container.image_id.is_none())
                && (container.image.is_empty() || is_it(&container.image))
    });
    if let Some(user) = user {
        return kept(format!("container {} uses it ({})", user.name, state_text(user.state)));
    }
    let mounted = presence.statuses.iter().find(|s| s.image_volumes.iter().any(|name| is_it(name)));
    if let Some(status) = mounted {
        let names = presence.containers.iter().find(|container| container.id == status.id);
        let name = names.map_or(status.id.as_str(), |container| container.name.as_str());
        return kept(format!("container {name} has it as a volume"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{ImageTimes, LastUse, RecordCoverage, Span};
    use crate::plan::{Freed, Outcome, Run, Ties, Trigger};
    use crate::reason::ImageReason;
    use kq_facts::runtime::ContainerState;
    use kq_facts::timestamp::Timestamp;
    use kq_k8s::duration::GoDuration;
    use proptest::prelude::*;
    use std::cell::RefCell;

    fn image(id: &str, pinned: bool) -> Image {
        Image { id: id.to_owned(), pinned, ..Image::default() }
    }

    fn container(image_ref: &str) -> Container {
        Container {
            name: "app".to_owned(),
            image_ref: image_ref.to_owned(),
            state: ContainerState::Exited,
            ..Container::default()
        }
    }

    fn removal(id: &str, size_bytes: i64) -> Removal {
        let names = vec![format!("node.test/{id}:1")];
        Removal { id: id.to_owned(), name: id.to_owned(), names, size_bytes, for_space: true }
    }

    #[test]
    fn what_is_used_or_pinned_or_unclear_is_kept() {
        let presence = |image: Option<Image>, containers: Vec<Container>| ImagePresence {
            image,
            containers,
            statuses: Vec::new(),
        };
        let volume = ContainerStatus {
            id: "c".to_owned(),
            image_volumes: vec!["a".to_owned()],
            ..ContainerStatus::default()
        };
        let broken =
            ContainerStatus { error: Some("gone".to_owned()), ..ContainerStatus::default() };
        for (name, presence, expected) in [
            ("free", presence(Some(image("a", false)), vec![container("b")]), "Ok(())"),
            ("gone", presence(None, vec![]), "Err(Gone)"),
            ("pinned", presence(Some(image("a", true)), vec![]), "it is pinned now"),
            ("another", presence(Some(image("b", false)), vec![]), "another image, \\\"b\\\""),
            (
                "used",
                presence(Some(image("a", false)), vec![container("a")]),
                "app uses it (exited)",
            ),
            (
                "by name",
                presence(Some(image("a", false)), vec![container("node.test/a:1")]),
                "app uses it",
            ),
            (
                "of nobody knows what",
                presence(Some(image("a", false)), vec![container("")]),
                "app uses",
            ),
            (
                "volume",
                ImagePresence {
                    statuses: vec![volume],
                    ..presence(Some(image("a", false)), vec![])
                },
                "has it as a volume",
            ),
            (
                "unreadable",
                ImagePresence {
                    statuses: vec![broken],
                    ..presence(Some(image("a", false)), vec![])
                },
                "Unreadable",
            ),
        ] {
            let result = format!("{:?}", check(&removal("a", 1), &presence));
            assert!(result.contains(expected), "{name}: {result}");
        }
        let nameless = check(&removal("", 1), &presence(Some(image("", false)), vec![]));
        assert!(nameless.is_err(), "an image without id is never named to a runtime");
    }

    #[test]
    fn what_may_be_young_is_left_out() {
        let item = |verdict, certainty, latest: i64| PlannedImage {
            verdict,
            certainty,
            known: Some(ImageTimes {
                first_detected: Span { earliest: Some(Timestamp(0)), latest: Timestamp(latest) },
                last_used: LastUse { may_be_never: true, span: None },
                likely_first_detected: Some(Timestamp(0)),
                likely_last_used: None,
                basis: RecordCoverage::Start,
            }),
            ..planned()
        };
        let plan = ImageGcPlan {
            at: Timestamp(100),
            run: Run { minimum_age: GoDuration(10), ..Run::default() },
            items: vec![
                item(Verdict::RemovedForSpace, Certainty::Possible, 90),
                item(Verdict::RemovedForSpace, Certainty::Possible, 91),
                item(Verdict::RemovedForAge, Certainty::Certain, 100),
                item(Verdict::RemovedForAge, Certainty::Unknown, 0),
                item(Verdict::TargetReached, Certainty::Certain, 0),
            ],
            ..nothing()
        };
        assert_eq!((removals(&plan, false).len(), unsure(&plan)), (2, 2));
        assert_eq!(removals(&plan, true).len(), 4);
    }

    fn planned() -> PlannedImage {
        PlannedImage {
            place: Some(1),
            id: "a".to_owned(),
            runtime_handler: String::new(),
            tags: Vec::new(),
            digests: Vec::new(),
            size_bytes: 1,
            own_bytes: None,
            shared_bytes: None,
            verdict: Verdict::NotWanted,
            certainty: Certainty::Certain,
            reason: ImageReason::NotListed.into(),
            depends_on: None,
            tied_with: Ties::default(),
            tied_places: None,
            used_by: Vec::new(),
            known: None,
        }
    }

    fn nothing() -> ImageGcPlan {
        ImageGcPlan {
            trigger: Trigger::Periodic,
            at: Timestamp(0),
            run: Run::default(),
            containers: None,
            items: Vec::new(),
            freed: Freed::default(),
            outcome: Outcome::default(),
            basis: kq_answer::Basis::default(),
            kubelet_start: None,
        }
    }

    /// A runtime that answers what is prepared for each look, and notes what was removed.
    struct Prepared {
        looks: RefCell<Vec<Result<ImagePresence, String>>>,
        refused: BTreeSet<String>,
        removed: RefCell<Vec<String>>,
    }

    impl Prepared {
        fn new(looks: Vec<Result<ImagePresence, String>>, refused: &[&str]) -> Self {
            Self {
                looks: RefCell::new(looks.into_iter().rev().collect()),
                refused: refused.iter().map(|id| (*id).to_owned()).collect(),
                removed: RefCell::default(),
            }
        }
    }

    impl ImageRuntime for Prepared {
        fn read(&self, _: &str) -> Result<ImagePresence, String> {
            self.looks.borrow_mut().pop().unwrap_or_else(|| Err("no answer".to_owned()))
        }

        fn remove(&self, id: &str) -> Result<(), String> {
            if self.refused.contains(id) {
                return Err("device busy".to_owned());
            }
            self.removed.borrow_mut().push(id.to_owned());
            Ok(())
        }
    }

    fn free(id: &str) -> Result<ImagePresence, String> {
        Ok(ImagePresence { image: Some(image(id, false)), ..ImagePresence::default() })
    }

    #[test]
    fn it_goes_on_after_a_failure_and_stops_at_the_target() {
        let list: Vec<Removal> = ["a", "b", "c", "d"].map(|id| removal(id, 10)).into();
        let looks = || ["a", "b", "c", "d"].map(free).into();
        for (name, runtime, target, removed, left) in [
            ("all", Prepared::new(looks(), &[]), None, vec!["a", "b", "c", "d"], 0),
            ("a target", Prepared::new(looks(), &[]), Some(11), vec!["a", "b"], 2),
            ("no target left", Prepared::new(looks(), &[]), Some(-5), vec!["a"], 3),
            ("a failure", Prepared::new(looks(), &["a"]), Some(20), vec!["b", "c"], 1),
            (
                "a runtime that dies",
                Prepared::new(vec![free("a"), Err("x".to_owned()), Err("y".to_owned())], &[]),
                None,
                vec!["a"],
                1,
            ),
            (
                "one that comes back",
                Prepared::new(vec![Err("x".to_owned()), free("b"), Err("y".to_owned())], &[]),
                None,
                vec!["b"],
                0,
            ),
        ] {
            let mut told = 0;
            let done = apply(&list, target, &runtime, &mut |_, _, _| told += 1);
            assert_eq!(*runtime.removed.borrow(), removed, "{name}");
            let is_left = done.results.iter().filter(|result| **result == Removed::Left);
            assert_eq!(is_left.count(), left, "{name}: {done:?}");
            assert_eq!(told + left, list.len(), "{name}");
            assert_eq!(done.counted_bytes, 10 * removed.len() as i64, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nothing_in_use_or_pinned_is_ever_removed(
            nodes in prop::collection::vec(
                (any::<bool>(), prop::collection::vec(0..6_usize, 0..5), any::<bool>()), 6),
            refused in prop::collection::vec(0..6_usize, 0..3),
            target in prop::option::of(-10..100_i64),
        ) {
            let ids = ["a", "b", "c", "d", "e", "f"];
            let list: Vec<Removal> = ids.map(|id| removal(id, 10)).into();
            let looks = nodes.iter().zip(ids).map(|((pinned, used, readable), id)| {
                let containers = used.iter().map(|index| container(ids[*index])).collect();
                let image = Some(image(id, *pinned));
                readable.then_some(ImagePresence { image, containers, statuses: Vec::new() })
                    .ok_or_else(|| "no answer".to_owned())
            });
            let refused: Vec<&str> = refused.iter().map(|index| ids[*index]).collect();
            let runtime = Prepared::new(looks.collect(), &refused);
            apply(&list, target, &runtime, &mut |_, _, _| {});
            for id in runtime.removed.borrow().iter() {
                let index = ids.iter().position(|known| known == id).expect("one of the list");
                let (pinned, used, readable) = &nodes[index];
                prop_assert!(!pinned && *readable && !used.contains(&index), "{id}");
            }
        }
    }
}
