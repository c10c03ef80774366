//! The derivation of a value: typed steps with the numbers in them.
//!
//! A step is data; its words are made for display.

use crate::rule::Rule;
use crate::total::Total;
use kq_answer::Worded;
use kq_answer::reason::Reason;
use kq_facts::weight_formula::WeightFormula;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
use serde::Serializer;
use std::borrow::Cow;
use std::fmt;

/// A value and the steps that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived<T> {
    pub value: T,
    /// The steps, in the order of the computation.
    pub because: Vec<Step>,
}

impl<T> Derived<T> {
    /// Puts a value and its steps together.
    pub fn new(value: T, because: impl Into<Vec<Step>>) -> Self {
        Self { value, because: because.into() }
    }
}

// A plan has dozens for each pod, so rare parts that are large are on the heap.
/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Reason)]
#[reason(tag = "step")]
pub enum Step {
    /// An amount as the pod or the configuration states it.
    #[text("{field} {value}")]
    Given {
        /// The field, as short as it is unambiguous.
        field: Cow<'static, str>,
        /// The amount as written.
        value: Stated,
    },
    /// A pod's total of one resource.
    #[text("{0}")]
    Total(Box<Total>),
    /// A sum over pods.
    #[text(
        "{field} of {pods} {classes} {noun} = {sum} {unit}",
        classes = classes.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(" and "),
        noun = if *pods == 1 { "pod" } else { "pods" }
    )]
    PodSum {
        /// The field that is added up.
        field: &'static str,
        /// The pods' class.
        classes: Box<[QosClass]>,
        /// How many there are.
        pods: usize,
        sum: i64,
        /// What is counted: `milli-CPU` or `bytes`.
        unit: &'static str,
    },
    /// `MilliCPUToShares`
    #[text(
        if i64::try_from(*shares) == Ok(milli(*milli_cpu, 1024)) =>
        "{milli_cpu} x 1024 / 1000 = {shares} shares"
    )]
    #[text(
        "{milli_cpu} x 1024 / 1000 = {exact}, kept within 2 and 262144: {shares} shares",
        exact = milli(*milli_cpu, 1024)
    )]
    MilliCpuToShares {
        /// The request.
        milli_cpu: i64,
        /// The result.
        shares: u64,
    },
    /// Shares to a cgroup v2 weight.
    #[text(
        "{linear}weight {weight} ({formula}, {writer}{otherwise})",
        linear = linear(*formula, *shares),
        otherwise = otherwise.map_or_else(String::new, |it| format!(", assumed; else {it}"))
    )]
    SharesToWeight {
        shares: u64,
        /// The formula of the writer.
        formula: WeightFormula,
        /// `kubelet` or `runtime`.
        writer: &'static str,
        /// The result of the other formula, where the runtime's formula is unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        otherwise: Option<u64>,
        /// The result.
        weight: u64,
    },
    /// `MilliCPUToQuota`
    #[text(
        if milli(*milli_cpu, *period_us) == *quota_us =>
        "{milli_cpu} x {period_us} / 1000 = {quota_us} us"
    )]
    #[text(
        "{milli_cpu} x {period_us} / 1000 = {exact} us, at least {quota_us} us",
        exact = milli(*milli_cpu, *period_us)
    )]
    MilliCpuToQuota {
        /// The limit.
        milli_cpu: i64,
        period_us: i64,
        /// The result.
        quota_us: i64,
    },
    /// systemd counts quotas in whole percents of a CPU.
    #[text("asked {asked_us} us, systemd keeps whole percents: {kept_us} us")]
    SystemdQuota {
        /// What was asked for.
        asked_us: i64,
        kept_us: i64,
    },
    /// The file has the quota as it was asked for, until systemd applies the unit's properties again (kubelets before 1.34).
    #[text(
        "written {asked_us} us; systemd has whole percents, and writes {later_us} us when it \
         applies the unit again"
    )]
    SystemdQuotaLater {
        /// What was asked for, and is written.
        asked_us: i64,
        /// What systemd has.
        later_us: i64,
    },
    /// An amount in bytes or another whole unit.
    #[text("{units} {unit}")]
    Units {
        /// The result.
        units: i64,
        /// `bytes` or `processes`.
        unit: &'static str,
    },
    /// Capacity without what is reserved.
    #[text("{0}")]
    Allocatable(Box<AllocatableStep>),
    /// `qosReserved`: what is held back for higher classes.
    #[text("{available} - {requests} x {percent} / 100 = {limit} bytes")]
    QosReserved {
        /// The amount before the reservation.
        available: i64,
        /// The requests that are protected.
        requests: i64,
        /// How much of them, in percent.
        percent: i64,
        /// What is left.
        limit: i64,
    },
    /// `memory.high`: throttling before the limit.
    #[text(
        "request {request} + ({top_is} {top} - {request}) x {factor}, in whole pages of \
         {page_size} = {high}"
    )]
    MemoryHigh {
        request: i64,
        /// What it is measured against.
        top: i64,
        /// Whether that is the container's `limit` or, without one, what the node has `allocatable`.
        top_is: &'static str,
        /// `memoryThrottlingFactor`
        factor: f64,
        /// The page size that the result is a multiple of.
        page_size: i64,
        /// The result.
        high: i64,
    },
    /// `LimitedSwap`: a container's part of the swap.
    #[text("{request} / {memory_capacity} x {swap_capacity} = {swap} bytes of swap")]
    SwapShare {
        /// The container's memory request.
        request: i64,
        /// The machine's memory.
        memory_capacity: i64,
        /// The machine's swap.
        swap_capacity: i64,
        /// The result.
        swap: i64,
    },
    /// `oom_score_adj` of a Burstable pod's container.
    #[text(extra: 0 => "1000 - 1000 x {request} / {capacity} = {score}")]
    #[text("1000 - 1000 x ({request} + {extra}) / {capacity} = {score}")]
    OomScore {
        /// The memory request that counts.
        request: i64,
        /// Its part of what the pod requests above its containers.
        extra: i64,
        /// The machine's memory.
        capacity: i64,
        /// The result.
        score: i64,
    },
    /// A sidecar is not killed before the container that it serves.
    #[text("not above {score} of the smallest container ({request} bytes)")]
    SidecarOomScore {
        /// The smallest memory request of a regular container.
        request: i64,
        /// The score of that container.
        score: i64,
    },
    /// A rule without arithmetic.
    #[text("{rule}")]
    Rule { rule: Rule },
}

/// Returns thousandths of an amount, as the kubelet computes them.
fn milli(amount: i64, of: i64) -> i64 {
    amount.wrapping_mul(of) / 1000
}

fn linear(formula: WeightFormula, shares: u64) -> String {
    match (formula, shares) {
        (WeightFormula::Linear, 2..262_144) => format!("1 + ({shares} - 2) x 9999 / 262142 = "),
        _ => String::new(),
    }
}

/// A stated amount.
#[derive(Clone, Debug, PartialEq)]
pub enum Stated {
    /// As the pod or the configuration writes it.
    Quantity(Quantity),
    Number(i64),
    Microseconds(u64),
    /// Nothing is stated.
    None,
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(quantity) => quantity.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Microseconds(us) => write!(f, "{us} us"),
            Self::None => f.write_str("none"),
        }
    }
}

impl serde::Serialize for Stated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

kq_k8s::schema_as!(Stated, String);

/// Capacity without what is reserved, of one resource of the node.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatableStep {
    pub resource: String,
    /// All there is.
    pub capacity: Quantity,
    /// `systemReserved`
    pub system_reserved: Quantity,
    /// `kubeReserved`
    pub kube_reserved: Quantity,
    /// The result.
    pub allocatable: Quantity,
}

impl fmt::Display for AllocatableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capacity {} {}", self.resource, self.capacity)?;
        let (system, kube) = (&self.system_reserved, &self.kube_reserved);
        for (reserved, name) in [(system, "systemReserved"), (kube, "kubeReserved")] {
            if !reserved.is_zero() {
                write!(f, " - {name} {reserved}")?;
            }
        }
        match system.is_zero() && kube.is_zero() {
            true => f.write_str(", nothing reserved"),
            false => write!(f, " = {}", self.allocatable),
        }
    }
}

/// Serializes steps with their words and numbers.
pub fn serialize_with_text<S: Serializer>(
    steps: &[Step],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(steps.iter().map(Worded))
}

/// Joins the words of steps.
pub fn join(steps: &[Step]) -> String {
    let texts: Vec<String> = steps.iter().map(Step::to_string).collect();
    texts.join(" -> ")
}

impl From<Rule> for Step {
    fn from(rule: Rule) -> Self {
        Self::Rule { rule }
    }
}
