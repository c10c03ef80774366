//! Events, one line each, and their rate limit: a flooding plugin must fill neither the terminal nor the disk.

use crate::manager::PluginOptions;
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::terminal::plain;
use kq_output::units::counted;
use serde::Serialize;
use std::fmt;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "event")]
pub enum Event {
    /// Plugins can register.
    #[text("LISTENING {socket}")]
    Listening {
        /// Where.
        socket: String,
    },
    /// The state of the one before was taken over.
    #[text(
        "RESTORED devices of {pods}, {resources} without a plugin yet",
        pods = listed(pods, "pod"),
        resources = listed(resources, "resource")
    )]
    Restored {
        /// The pods that have devices; they count as active.
        pods: Vec<String>,
        /// The resources, whose plugins must register again.
        resources: Vec<String>,
    },
    /// The checkpoint cannot be taken.
    #[text(
        kept: Some(kept) =>
        "DAMAGED checkpoint: {error}; starting with nothing, as the kubelet does; kept as {kept}"
    )]
    #[text("DAMAGED checkpoint: {error}; starting with nothing, as the kubelet does")]
    Damaged {
        /// Why, in the kubelet's words.
        error: String,
        /// Where it is now; a kubelet leaves it where it is and writes over it.
        kept: Option<String>,
    },
    /// A file that no fake kubelet wrote is kept, because it is overwritten.
    #[text("KEPT {name}, which no fake kubelet wrote, as {kept}: it is replaced")]
    Kept {
        name: String,
        /// The name of what is kept.
        kept: String,
    },
    /// Something that an earlier one left was removed.
    #[text("REMOVED stale {name}")]
    StaleRemoved {
        /// The name of the socket, or of a file half-written.
        name: String,
    },
    /// A process that never registered here listens on a socket in the folder.
    #[text(
        "LEFT {name}: a process listens there that never registered here; a starting kubelet \
         removes it. A plugin registers when it notices that there is a new kubelet.sock"
    )]
    LeftAlone {
        /// The name of the socket.
        name: String,
    },
    /// A plugin was refused.
    #[text(detail: Some(detail) => "REFUSED {resource} {endpoint}: {reason} ({detail})")]
    #[text("REFUSED {resource} {endpoint}: {reason}")]
    Refused {
        /// What it offered.
        resource: String,
        /// Its socket.
        endpoint: String,
        /// The answer to it, in the kubelet's words.
        reason: String,
        /// What the kubelet does not tell.
        detail: Option<String>,
    },
    /// A caller of the socket speaks something else than HTTP/2.
    #[text("REFUSED a caller of kubelet.sock that does not use gRPC: {reason}")]
    NotUnderstood {
        /// What is wrong with what it said.
        reason: String,
    },
    /// A plugin has registered.
    #[text(
        replaces: Some(replaces) =>
        "REGISTERED {resource} {endpoint} preStartRequired={required} \
         getPreferredAllocationAvailable={available}, in place of {replaces}, whose stream is \
         still open",
        required = options.pre_start_required,
        available = options.get_preferred_allocation_available
    )]
    #[text(
        "REGISTERED {resource} {endpoint} preStartRequired={required} \
         getPreferredAllocationAvailable={available}",
        required = options.pre_start_required,
        available = options.get_preferred_allocation_available
    )]
    Registered {
        /// What it offers.
        resource: String,
        /// Its socket.
        endpoint: String,
        /// What it can do.
        options: PluginOptions,
        /// The socket of one whose stream is still open; it is not the resource's endpoint any more.
        replaces: Option<String>,
    },
    /// A list came.
    #[text(
        "LISTED {resource} {devices}, {healthy} healthy, {changes}",
        devices = counted(*devices, "device"),
        changes = counted(*changes, "change")
    )]
    Listed {
        resource: String,
        devices: usize,
        /// Those of them that are healthy.
        healthy: usize,
        /// What changed, as far as it was counted.
        changes: usize,
    },
    /// A device is new.
    #[text(
        "ADDED {resource} {id} {health} {numa_nodes}",
        id = name(id),
        numa_nodes = nodes(numa_nodes.as_deref())
    )]
    DeviceAdded {
        resource: String,
        /// The device.
        id: String,
        /// Its health, as the plugin says.
        health: String,
        numa_nodes: Option<Vec<i64>>,
    },
    /// A device is not listed any more.
    #[text("GONE {resource} {id}{used_by}", id = name(id), used_by = users(used_by))]
    DeviceRemoved {
        resource: String,
        /// The device.
        id: String,
        /// The containers that have it: `UID/CONTAINER`.
        used_by: Vec<String>,
    },
    /// A device has another health.
    #[text(
        "HEALTH {resource} {id} {before} -> {health}{used_by}",
        id = name(id),
        used_by = users(used_by)
    )]
    DeviceHealth {
        resource: String,
        /// The device.
        id: String,
        /// What it was.
        before: String,
        health: String,
        /// The containers that have it: `UID/CONTAINER`.
        used_by: Vec<String>,
    },
    /// A device has other NUMA nodes.
    #[text(
        "TOPOLOGY {resource} {id} {before} -> {numa_nodes}",
        id = name(id),
        before = nodes(before.as_deref()),
        numa_nodes = nodes(numa_nodes.as_deref())
    )]
    DeviceTopology {
        resource: String,
        /// The device.
        id: String,
        /// What they were.
        before: Option<Vec<i64>>,
        /// What they are.
        numa_nodes: Option<Vec<i64>>,
    },
    /// More changed than is shown.
    #[text(
        "MORE {resource} {changes} of this list not shown",
        changes = counted(*changes, "change")
    )]
    More {
        resource: String,
        /// How many changes are not shown.
        changes: usize,
    },
    /// A plugin does what is rarely meant.
    #[text("ODD {resource} {text}")]
    Odd { resource: String, text: String },
    /// A plugin is gone.
    #[text(
        newer: Some(newer) =>
        "DISCONNECTED {resource} {endpoint}: {reason}; {unhealthy} unhealthy now; forgotten after \
         {forgotten_after}; {newer} has registered since, and the kubelet takes this for its end: \
         it must register again",
        unhealthy = counted(*unhealthy, "device")
    )]
    #[text(
        "DISCONNECTED {resource} {endpoint}: {reason}; {unhealthy} unhealthy now; forgotten after \
         {forgotten_after}",
        unhealthy = counted(*unhealthy, "device")
    )]
    Disconnected {
        resource: String,
        /// Its socket.
        endpoint: String,
        /// How its stream ended.
        reason: String,
        /// The devices that are unhealthy from now on.
        unhealthy: usize,
        /// When the resource is forgotten, unless a plugin registers.
        forgotten_after: Timestamp,
        /// The socket of one that registered since: the kubelet stops that one's endpoint.
        newer: Option<String>,
    },
    /// A resource is forgotten: its plugin was gone for the whole grace period.
    #[text("FORGOTTEN {resource}: no plugin for more than {grace}")]
    Forgotten {
        resource: String,
        /// How long that is.
        grace: GoDuration,
    },
    /// A pod asked for devices.
    #[text(refused: Some(refused) => "NOT-ALLOCATED {pod} {uid}: {refused}")]
    #[text("ALLOCATED {pod} {uid}")]
    Allocated {
        /// `NAMESPACE/NAME`
        pod: String,
        uid: String,
        /// Why it was refused, in the kubelet's words.
        refused: Option<String>,
    },
    /// A pod has ended; its devices are free when the next one asks.
    #[text("ENDED {uid}")]
    PodEnded { uid: String },
    /// The checkpoint could not be written; that is tried again, and no pod gets devices meanwhile.
    #[text("CHECKPOINT-FAILED {error}")]
    CheckpointFailed {
        /// Why.
        error: String,
    },
    /// The checkpoint could be written again.
    #[text("CHECKPOINT-WRITTEN again")]
    CheckpointWritten,
    /// Lines came too fast.
    #[text("HELD-BACK {lines} that came too fast", lines = counted(*lines, "line"))]
    HeldBack {
        /// How many are not shown.
        lines: usize,
    },
    /// It ends.
    #[text("STOPPING")]
    Stopping,
}

/// An event and when it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TimedEvent {
    /// When.
    pub time: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

impl Event {
    /// Returns true if their number is unlimited.
    pub fn may_flood(&self) -> bool {
        !matches!(
            self,
            Self::Listening { .. }
                | Self::Restored { .. }
                | Self::Damaged { .. }
                | Self::Kept { .. }
                | Self::Allocated { .. }
                | Self::PodEnded { .. }
                | Self::CheckpointFailed { .. }
                | Self::CheckpointWritten
                | Self::Stopping
                | Self::HeldBack { .. }
        )
    }
}

impl fmt::Display for TimedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.time, plain(short(&self.event.to_string())))
    }
}

/// Cuts a line that a name of megabytes would make unreadable.
fn short(line: &str) -> String {
    const SHOWN: usize = 1_000;
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => {
            format!("{}... ({} more bytes)", &line[..end], line.len() - end)
        }
        None => line.to_owned(),
    }
}

fn listed(names: &[String], what: &str) -> String {
    match names {
        [] => format!("no {what}"),
        names => format!("{} ({})", counted(names.len(), what), names.join(", ")),
    }
}

/// Shows an id; one that would not be seen is quoted.
fn name(id: &str) -> String {
    if id.is_empty() || id.contains(char::is_whitespace) {
        format!("{id:?}")
    } else {
        id.to_owned()
    }
}

fn nodes(nodes: Option<&[i64]>) -> String {
    match nodes {
        None | Some([]) => "no NUMA node".to_owned(),
        Some(nodes) => {
            let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            format!("NUMA {}", nodes.join(","))
        }
    }
}

fn users(used_by: &[String]) -> String {
    if used_by.is_empty() { String::new() } else { format!(", used by {}", used_by.join(", ")) }
}

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
