//! The derivation of a value: typed steps with the numbers in them.
//!
//! A step is data; its words are made for display.

use crate::rule::Rule;
use crate::total::Total;
use kq_facts::weight_formula::WeightFormula;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
use serde::ser::{SerializeSeq, Serializer};
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

/// One step on the way to a value. A plan has dozens for each pod, so rare parts that are large are on the heap.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// An amount as the pod or the configuration states it.
    Given {
        /// The field, as short as it is unambiguous.
        field: Cow<'static, str>,
        /// The amount as written.
        value: Stated,
    },
    /// A pod's total of one resource.
    Total(Box<Total>),
    /// A sum over pods.
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
    MilliCpuToShares {
        /// The request.
        milli_cpu: i64,
        /// The result.
        shares: u64,
    },
    /// Shares to a cgroup v2 weight.
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
    MilliCpuToQuota {
        /// The limit.
        milli_cpu: i64,
        period_us: i64,
        /// The result.
        quota_us: i64,
    },
    /// systemd counts quotas in whole percents of a CPU.
    SystemdQuota {
        /// What was asked for.
        asked_us: i64,
        kept_us: i64,
    },
    /// The file has the quota as it was asked for, until systemd applies the unit's properties again (kubelets before 1.34).
    SystemdQuotaLater {
        /// What was asked for, and is written.
        asked_us: i64,
        /// What systemd has.
        later_us: i64,
    },
    /// An amount in bytes or another whole unit.
    Units {
        /// The result.
        units: i64,
        /// `bytes` or `processes`.
        unit: &'static str,
    },
    /// Capacity without what is reserved.
    Allocatable(Box<AllocatableStep>),
    /// `qosReserved`: what is held back for higher classes.
    QosReserved {
        /// What there is before.
        available: i64,
        /// The requests that are protected.
        requests: i64,
        /// How much of them, in percent.
        percent: i64,
        /// What is left.
        limit: i64,
    },
    /// `memory.high`: throttling before the limit.
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
    SidecarOomScore {
        /// The smallest memory request of a regular container.
        request: i64,
        /// The score of that container.
        score: i64,
    },
    /// A rule without arithmetic.
    Rule { rule: Rule },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given { field, value } => write!(f, "{field} {value}"),
            Self::Total(total) => total.fmt(f),
            Self::PodSum { field, classes, pods, sum, unit } => {
                let classes: Vec<&str> = classes.iter().map(|class| class.as_str()).collect();
                let noun = if *pods == 1 { "pod" } else { "pods" };
                write!(f, "{field} of {pods} {} {noun} = {sum} {unit}", classes.join(" and "))
            }
            Self::MilliCpuToShares { milli_cpu, shares } => {
                let exact = milli_cpu.wrapping_mul(1024) / 1000;
                write!(f, "{milli_cpu} x 1024 / 1000 = {exact}")?;
                if i64::try_from(*shares) != Ok(exact) {
                    write!(f, ", kept within 2 and 262144: {shares}")?;
                }
                f.write_str(" shares")
            }
            Self::SharesToWeight { shares, formula, writer, otherwise, weight } => {
                if let (WeightFormula::Linear, 2..262_144) = (formula, *shares) {
                    write!(f, "1 + ({shares} - 2) x 9999 / 262142 = ")?;
                }
                write!(f, "weight {weight} ({formula}, {writer}")?;
                match otherwise {
                    Some(otherwise) => write!(f, ", assumed; else {otherwise})"),
                    None => f.write_str(")"),
                }
            }
            Self::MilliCpuToQuota { milli_cpu, period_us, quota_us } => {
                let exact = milli_cpu.wrapping_mul(*period_us) / 1000;
                write!(f, "{milli_cpu} x {period_us} / 1000 = {exact} us")?;
                if exact != *quota_us {
                    write!(f, ", at least {quota_us} us")?;
                }
                Ok(())
            }
            Self::SystemdQuota { asked_us, kept_us } => {
                write!(f, "asked {asked_us} us, systemd keeps whole percents: {kept_us} us")
            }
            Self::SystemdQuotaLater { asked_us, later_us } => write!(
                f,
                "written {asked_us} us; systemd has whole percents, and writes {later_us} us when it applies the unit again"
            ),
            Self::Units { units, unit } => write!(f, "{units} {unit}"),
            Self::Allocatable(allocatable) => allocatable.fmt(f),
            Self::QosReserved { available, requests, percent, limit } => {
                write!(f, "{available} - {requests} x {percent} / 100 = {limit} bytes")
            }
            Self::MemoryHigh { request, top, top_is, factor, page_size, high } => write!(
                f,
                "request {request} + ({top_is} {top} - {request}) x {factor}, in whole pages of \
                 {page_size} = {high}"
            ),
            Self::SwapShare { request, memory_capacity, swap_capacity, swap } => {
                write!(f, "{request} / {memory_capacity} x {swap_capacity} = {swap} bytes of swap")
            }
            Self::OomScore { request, extra, capacity, score } => {
                write!(f, "1000 - 1000 x ")?;
                match extra {
                    0 => write!(f, "{request}")?,
                    _ => write!(f, "({request} + {extra})")?,
                }
                write!(f, " / {capacity} = {score}")
            }
            Self::SidecarOomScore { request, score } => {
                write!(f, "not above {score} of the smallest container ({request} bytes)")
            }
            Self::Rule { rule } => rule.fmt(f),
        }
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

/// A step with its words.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ShownStep<'a> {
    #[serde(flatten)]
    step: &'a Step,
    #[serde(serialize_with = "collect_text")]
    #[schemars(with = "String")]
    text: &'a Step,
}

fn collect_text<S: Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(step)
}

/// Serializes steps with their words and numbers.
/// Those of the serializer.
pub fn serialize_with_text<S: Serializer>(
    steps: &[Step],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(steps.len()))?;
    for step in steps {
        sequence.serialize_element(&ShownStep { step, text: step })?;
    }
    sequence.end()
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
