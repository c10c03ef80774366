//! A frame: what one refresh shows, before sorting, filtering and drawing.

use super::trend::Trends;
use kq_facts::timestamp::Timestamp;
use kq_output::units;

/// A part of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Panel {
    /// Pods and containers with their cgroups.
    #[default]
    Pods,
    /// Eviction thresholds and the order of eviction.
    Eviction,
    /// Images against the thresholds of garbage collection.
    Images,
    /// Devices and their holders.
    Devices,
    /// Probes with their deadlines.
    Probes,
}

impl Panel {
    /// All panels, in the order of their keys.
    pub const ALL: [Self; 5] =
        [Self::Pods, Self::Eviction, Self::Images, Self::Devices, Self::Probes];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Eviction => "eviction",
            Self::Images => "images",
            Self::Devices => "devices",
            Self::Probes => "probes",
        }
    }
}

/// The content of one refresh.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The time of the facts.
    pub at: Timestamp,
    /// The name of the node; `None`: unknown.
    pub node: Option<String>,
    pub panel: Panel,
    /// The pods of the node together.
    pub totals: Totals,
    /// The content of the panel.
    pub body: Body,
    /// What is missing or assumed, one sentence each.
    pub notes: Vec<String>,
}

/// The content of a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The pods, each followed by its containers.
    Pods(Vec<Row>),
    /// The lines of an answer.
    Text(Vec<String>),
    /// Why there is no answer.
    Unavailable(String),
}

/// The cgroup of all pods, and the node that it is on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// The cgroup of all pods; `None`: it was not read.
    pub counters: Option<Counters>,
    /// The path of that cgroup.
    pub key: String,
    /// The CPUs of the node.
    pub cpus: Option<u64>,
    /// The memory of the node in bytes.
    pub memory_bytes: Option<u64>,
    /// How many pods there are.
    pub pods: usize,
}

/// A pod or a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The path of its cgroup.
    pub key: String,
    /// The name as `kq cgroup show` has it.
    pub label: String,
    /// The pod, as NAMESPACE/NAME; `None`: its name is unknown.
    pub pod: Option<String>,
    /// It is the pod itself, not a part of it.
    pub is_pod: bool,
    /// The QoS class.
    pub qos: String,
    /// The values of its cgroup.
    pub counters: Counters,
    /// The planned request of CPU in thousandths; `None`: none, or unknown.
    pub request_milli_cpu: Option<i64>,
    /// The CPUs that it gets by the kernel's weights and quotas when every container is busy.
    pub share: Option<String>,
    /// How often its containers were restarted.
    pub restarts: Option<i64>,
}

/// The values of a cgroup. What the kernel does not count is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// CPU time in microseconds.
    pub cpu_usec: Option<u64>,
    /// Periods in which the quota was enforced.
    pub periods: Option<u64>,
    /// Periods in which it was used up.
    pub throttled_periods: Option<u64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The limit of memory in bytes; `None`: no limit, or unknown.
    pub memory_limit: Option<u64>,
    /// The quota as thousandths of a CPU; `None`: no quota, or unknown.
    pub quota_milli: Option<u64>,
    /// Processes killed because memory ran out.
    pub oom_kills: Option<u64>,
    /// The shares of the last ten seconds in which some task waited: CPU, memory, input and output.
    pub pressure: Option<String>,
}

impl Frame {
    /// Returns the parts of the first line: the node, the time, the pods and their usage.
    pub fn title(&self, trends: &Trends) -> Vec<String> {
        let mut parts = vec![
            self.node.clone().unwrap_or_else(|| "unknown node".to_owned()),
            self.at.to_string(),
            format!("{} pods", self.totals.pods),
        ];
        let milli_cpu = trends.last(&self.totals.key).map(|sample| sample.milli_cpu);
        if let Some(milli) = milli_cpu {
            let cpus = self.totals.cpus.map(|cpus| format!(" of {cpus}"));
            parts.push(format!("CPU {milli}m{}", cpus.unwrap_or_default()));
        }
        let memory = self.totals.counters.as_ref().and_then(|counters| counters.memory_bytes);
        if let Some(bytes) = memory {
            let of = self.totals.memory_bytes.map(|all| format!(" of {}", units::bytes(all)));
            parts.push(format!("memory {}{}", units::bytes(bytes), of.unwrap_or_default()));
        }
        let pressure = self.totals.counters.as_ref().and_then(|it| it.pressure.as_ref());
        parts.extend(pressure.map(|pressure| format!("pressure {pressure}")));
        parts
    }
}
