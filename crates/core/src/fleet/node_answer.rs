//! What kq on a node writes about a change: a plan, or what became of it.

use super::packed::Packed;
use kq_output::terminal::{brief, plain};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

/// The most steps of a plan that are kept in words, and the most characters of each.
pub(super) const MOST_STEPS: usize = 100;
const LONGEST_STEP: usize = 300;

/// What kq on a node writes about a change or its plan. Everything in it is the word of a stranger.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct NodeAnswer {
    plan_digest: Option<String>,
    stopped: Option<String>,
    containers: NodeSteps,
    items: NodeSteps,
}

/// Steps of a node: their number, the first ones, and the first that failed. There may be any number of them.
#[derive(Default)]
struct NodeSteps {
    count: usize,
    first: Vec<NodeStep>,
    failed: Option<NodeStep>,
}

impl<'de> Deserialize<'de> for NodeSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = NodeSteps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of steps")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NodeSteps, A::Error> {
                let mut steps = NodeSteps::default();
                while let Some(step) = seq.next_element::<NodeStep>()? {
                    steps.count += 1;
                    if steps.failed.is_none() && step.has_failed() {
                        steps.failed = Some(step);
                    } else if steps.first.len() < MOST_STEPS {
                        steps.first.push(step);
                    }
                }
                Ok(steps)
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

/// A step of `gc apply` or of `cgroup apply`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeStep {
    name: Option<String>,
    what: Option<String>,
    owner: Option<String>,
    file: Option<String>,
    from: Option<String>,
    to: Option<String>,
    result: Option<String>,
    reason: Option<String>,
}

impl NodeAnswer {
    pub(super) fn of(packed: &Packed) -> Option<Self> {
        serde_json::from_slice(&packed.output).ok()
    }

    /// Returns the digest, if it is one.
    pub(super) fn digest(&self) -> Option<&str> {
        let is_digest = |text: &&str| {
            let digits = text.strip_prefix("sha256:");
            digits.is_some_and(|it| it.len() == 64 && it.bytes().all(|c| c.is_ascii_hexdigit()))
        };
        self.plan_digest.as_deref().filter(is_digest)
    }

    pub(super) fn count(&self) -> usize {
        self.containers.count + self.items.count
    }

    /// Returns the first steps in words.
    pub(super) fn words(&self) -> Vec<String> {
        let steps = self.containers.first.iter().chain(&self.items.first);
        steps.take(MOST_STEPS).map(NodeStep::words).collect()
    }

    /// Returns why a step was not done.
    pub(super) fn failure(&self) -> Option<String> {
        let of_step = || {
            let step = self.containers.failed.as_ref().or(self.items.failed.as_ref())?;
            Some(format!("{}: {}", step.words(), step.reason.as_deref().unwrap_or("it failed")))
        };
        self.stopped.clone().or_else(of_step).map(|it| brief(&it).into_owned())
    }
}

impl NodeStep {
    fn has_failed(&self) -> bool {
        self.result.as_deref().is_some_and(|it| matches!(it, "failed" | "unreadable"))
    }

    fn words(&self) -> String {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let words = match (&self.file, &self.what) {
            (Some(file), _) => {
                format!("{} {file}: {} -> {}", text(&self.owner), text(&self.from), text(&self.to))
            }
            (None, Some(what)) => format!("remove {what} {}", text(&self.name)),
            (None, None) => format!("remove image {}", text(&self.name)),
        };
        let end = words.char_indices().nth(LONGEST_STEP).map_or(words.len(), |(at, _)| at);
        let more = if end < words.len() { "..." } else { "" };
        // A line end in it would begin a step, or a plan, that is none.
        plain(format!("{}{more}", &words[..end]))
    }
}

impl Packed {
    /// Returns the reason among the notes of kq: the one that ended it, else a warning.
    pub(super) fn reason(&self) -> Option<String> {
        let kinds = ["refused: ", "stopped: ", "kq: ", "error: ", "missing: ", "warning: "];
        let of_kind = |kind: &&str| self.notes.lines().find_map(|line| line.strip_prefix(*kind));
        kinds.iter().find_map(of_kind).map(|reason| brief(reason).into_owned())
    }
}
