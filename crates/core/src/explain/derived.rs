//! What follows from the numbers of a message by arithmetic alone.

use super::message::MessageFact;
use super::table::Row;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::quantity::Quantity;

/// What was derived.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// A sentence with the numbers, in place of the general one.
    pub summary: Option<String>,
    /// What follows and what an operator does, in place of the general sentences.
    pub advice: Option<[&'static str; 2]>,
    pub facts: Vec<MessageFact>,
}

/// Derives something from the facts of a message.
type Derive = fn(&[MessageFact]) -> Derived;

/// What rows of the table allow, by the name that a row has there.
const DERIVATIONS: &[(&str, Derive)] = &[
    ("insufficient-resource", insufficient),
    ("threshold-quantity", threshold),
    ("node-low", threshold),
    ("kernel-flag", kernel_flags),
    ("shutdown-now", shutdown),
    ("node-status", node_status),
    ("kernel-oom", kernel_oom),
    ("reserved-cpus", reserved_cpus),
    ("image-gc-short", image_gc_short),
];

/// Derives what a row allows.
pub(super) fn derive(row: &Row, facts: &[MessageFact]) -> Derived {
    let of_row = DERIVATIONS.iter().find(|(id, _)| row.id == Some(*id));
    of_row.map_or_else(Derived::default, |(_, derive)| derive(facts))
}

fn value<'f>(facts: &'f [MessageFact], name: &str) -> Option<&'f str> {
    facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

fn fact(name: &str, value: String, meaning: &str) -> MessageFact {
    MessageFact { name: name.to_owned(), value, meaning: meaning.to_owned() }
}

/// Returns the unit of a resource in the kubelet's message.
pub(super) fn unit(resource: &str) -> &'static str {
    match resource {
        "cpu" => "milliCPU",
        "memory" | "ephemeral-storage" => "bytes",
        "pods" => "pods",
        _ if resource.starts_with("hugepages-") => "bytes",
        _ => "devices",
    }
}

fn insufficient(facts: &[MessageFact]) -> Derived {
    let number = |name| value(facts, name)?.parse::<i128>().ok();
    let (Some(resource), Some(requested), Some(used), Some(capacity)) =
        (value(facts, "resource"), number("requested"), number("used"), number("capacity"))
    else {
        return Derived::default();
    };
    let is_full = resource == "pods" && requested == 1;
    let unit = unit(resource);
    let missing = requested.saturating_add(used).saturating_sub(capacity);
    let amount = |number: i128, unit_word: &str| match (unit, i64::try_from(number)) {
        ("bytes", Ok(bytes)) => size_and_bytes(bytes),
        _ => format!("{number}{unit_word}"),
    };
    // Of pods they would be named twice: `1 pods of pods`.
    let with_unit = if resource == "pods" { String::new() } else { format!(" {unit}") };
    let summary = format!(
        "The pod asks for {} of {resource}; the pods here have requested {} of {} allocatable, so that {} {} missing.",
        amount(requested, &with_unit),
        amount(used, ""),
        amount(capacity, ""),
        amount(missing, &with_unit),
        if missing == 1 && unit != "bytes" { "is" } else { "are" }
    );
    let summary = match is_full {
        true => format!("The node is full: {used} of {capacity} pods (maxPods)."),
        false => summary,
    };
    let missing = fact(
        "missing",
        format!("{missing} {unit}"),
        "requested + used - capacity: what other pods have to give up",
    );
    let unit = fact("unit", unit.to_owned(), "the unit of the three numbers");
    Derived { summary: Some(summary), advice: None, facts: vec![missing, unit] }
}

fn threshold(facts: &[MessageFact]) -> Derived {
    let (Some(quantity), Some(available)) = (value(facts, "threshold"), value(facts, "available"))
    else {
        return Derived::default();
    };
    let bytes = |text: &str| text.parse::<Quantity>().ok().map(|quantity| quantity.value());
    let (Some(low), Some(free)) = (bytes(quantity), bytes(available)) else {
        return Derived::default();
    };
    let resource = value(facts, "resource").unwrap_or("the resource");
    let is_below = if free < low { "below" } else { "not below" };
    let (unit, both) = match resource {
        "inodes" | "pids" => ("", format!("{free} is {is_below} {low}")),
        _ => (" bytes", format!("{} is {is_below} {}", size_and_bytes(free), size_and_bytes(low))),
    };
    let mut facts = vec![
        fact(
            "available in one unit",
            format!("{free}{unit}"),
            "what was free when the kubelet measured",
        ),
        fact("threshold in one unit", format!("{low}{unit}"), "the eviction threshold"),
    ];
    let short = match low.saturating_sub(free) {
        missing @ 1.. => {
            facts.push(fact("missing", format!("{missing}{unit}"), "threshold - available"));
            both
        }
        // A crossed threshold counts until its minimum reclaim is free as well (`thresholdsMet`,
        // `pkg/kubelet/eviction/helpers.go`).
        _ => format!(
            "it had crossed the threshold, and {both} now, which is not enough with \
             evictionMinimumReclaim"
        ),
    };
    Derived {
        summary: Some(format!(
            "The node ran short of {resource}: {short}, and the kubelet chose this pod to evict."
        )),
        advice: None,
        facts,
    }
}

/// Returns a number of bytes with its size, where it is large enough for one to be easier to read.
pub(super) fn size_and_bytes(bytes: i64) -> String {
    match bytes.unsigned_abs() {
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} ({bytes} bytes)", size(bytes)),
    }
}

/// Returns a size in the largest binary unit of which there is one.
pub(super) fn size(bytes: i64) -> String {
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes.unsigned_abs() >> shift > 0);
    match unit {
        Some((unit, shift)) => {
            let tenths = (i128::from(bytes) * 10) >> shift;
            format!("{}.{}{unit}", tenths / 10, (tenths % 10).abs())
        }
        None => format!("{bytes}"),
    }
}

fn shutdown(facts: &[MessageFact]) -> Derived {
    let summary = value(facts, "event").and_then(|event| match event {
        "true" => Some("logind announces a shutdown of the machine."),
        "false" => {
            Some("logind says that the shutdown of the machine was cancelled; pods start again.")
        }
        _ => None,
    });
    Derived { summary: summary.map(str::to_owned), ..Derived::default() }
}

fn image_gc_short(facts: &[MessageFact]) -> Derived {
    let usage = value(facts, "usage");
    let freed = value(facts, "freed").and_then(|it| it.parse().ok()).map(size_and_bytes);
    if usage.is_none() && freed.is_none() {
        return Derived::default();
    }
    let usage = usage.map_or(String::new(), |usage| format!("{usage}% full, "));
    let freed = freed.map_or("did not free enough".to_owned(), |freed| {
        format!("freed {freed}, which is not enough")
    });
    Derived {
        summary: Some(format!(
            "The image file system is {usage}above imageGCHighThresholdPercent, and deleting unused images {freed}."
        )),
        ..Derived::default()
    }
}

fn reserved_cpus(facts: &[MessageFact]) -> Derived {
    let found = value(facts, "set").and_then(|set| set.parse::<CpuSet>().ok());
    let Some((found, count)) = found.zip(value(facts, "count")) else { return Derived::default() };
    let number = found.len();
    let fact = fact("found", number.to_string(), "the number of the CPUs that were found");
    Derived {
        summary: Some(format!(
            "The reservation asks for {count} CPUs, and the static policy found {number} of the machine's to reserve ({found})."
        )),
        advice: None,
        facts: vec![fact],
    }
}

/// Whose memory limit was reached, by the name of a cgroup of the kubelet and of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limited {
    Container,
    Pod,
    Pods,
    Other,
}

impl Limited {
    fn of(cgroup: &str) -> Self {
        // `pod35fd...`, or `kubepods-burstable-pod35fd....slice` of systemd.
        let is_pod = |name: &str| {
            let slice = name.strip_suffix(".slice").and_then(|it| it.rsplit('-').next());
            let name = slice.unwrap_or(name);
            name.strip_prefix("pod").is_some_and(|uid| uid.len() >= 32)
        };
        let mut names = cgroup.trim_end_matches('/').rsplit('/');
        let last = names.next().unwrap_or_default();
        if names.any(is_pod) {
            return Self::Container;
        }
        match is_pod(last) {
            true => Self::Pod,
            false if last.starts_with("kubepods") || cgroup.contains("/kubepods/") => Self::Pods,
            false => Self::Other,
        }
    }
}

fn kernel_oom(facts: &[MessageFact]) -> Derived {
    let (Some(task), Some(pid), Some(cgroup)) =
        (value(facts, "task"), value(facts, "pid"), value(facts, "oom_memcg"))
    else {
        return Derived::default();
    };
    let (whose, advice) = match Limited::of(cgroup) {
        Limited::Container => (
            "the cgroup of the container",
            Some([
                "The container ends with the reason OOMKilled, and is started again, if restartPolicy has it.",
                "Compare the container's memory limit with its use (kq cgroup show), and raise it or find the leak.",
            ]),
        ),
        Limited::Pod => (
            "the cgroup of the pod",
            Some([
                "The container of the process ends with the reason OOMKilled, and is started again, if restartPolicy has it.",
                "Compare what the containers of the pod and its emptyDir volumes in memory use together with the limit of the pod: the sum of its containers' limits, or its own (kq cgroup show).",
            ]),
        ),
        Limited::Pods => (
            "the cgroup of the node's pods",
            Some([
                "The container of the process ends with the reason OOMKilled, and is started again, if restartPolicy has it.",
                "The pods together use more than the allocatable memory: eviction came too late. Raise evictionHard, or give pods memory limits (kq evict rank --signal memory).",
            ]),
        ),
        Limited::Other => ("its memory cgroup, which is none of the pods',", None),
    };
    Derived {
        summary: Some(format!(
            "Not the kubelet's: the kernel killed {task} (pid {pid}), because {whose} reached its memory limit."
        )),
        advice,
        facts: Vec::new(),
    }
}

fn node_status(facts: &[MessageFact]) -> Derived {
    let summary = "The node is NotReady: its kubelet says so, or the node controller does, as the kubelet has stopped reporting.";
    let advice = [
        "The scheduler places no pods on the node; after five minutes its pods without a longer toleration are deleted.",
        "kubectl describe node: Ready False has the kubelet's reason in its message (runtime, network plugin, PLEG); with Unknown, see whether the machine is up and the kubelet runs.",
    ];
    match value(facts, "event") {
        Some("NodeNotReady") => {
            Derived { summary: Some(summary.to_owned()), advice: Some(advice), facts: Vec::new() }
        }
        _ => Derived::default(),
    }
}

fn kernel_flags(facts: &[MessageFact]) -> Derived {
    let of = |name: &str| {
        let named = facts.iter().filter(|fact| fact.name == name).map(|fact| fact.value.clone());
        named.collect::<Vec<_>>()
    };
    let flags = of("flag");
    if flags.is_empty() {
        return Derived::default();
    }
    Derived {
        summary: Some(format!(
            "With protectKernelDefaults, the kubelet refuses to start: {} of the kernel {} not what it needs.",
            flags.join(" and "),
            if flags.len() == 1 { "is" } else { "are" }
        )),
        ..Derived::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Limited;

    #[test]
    fn a_cgroup_says_whose_limit_was_reached() {
        let uid = "35fd43b3_2f5e_4a3b_9c55_0123456789ab";
        let slice =
            format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice");
        let pod = format!("/kubepods/burstable/pod{}", uid.replace('_', "-"));
        for (cgroup, expected) in [
            (slice.clone(), Limited::Pod),
            (format!("{slice}/cri-containerd-25a3.scope"), Limited::Container),
            (format!("{slice}/crio-25a3.scope/container"), Limited::Container),
            (pod.clone(), Limited::Pod),
            (format!("{pod}/25a3"), Limited::Container),
            ("/kubepods.slice".to_owned(), Limited::Pods),
            ("/kubepods/besteffort".to_owned(), Limited::Pods),
            ("/kubepods.slice/kubepods-besteffort.slice".to_owned(), Limited::Pods),
            ("/system.slice/kubelet.service".to_owned(), Limited::Other),
            ("/podman.slice".to_owned(), Limited::Other),
        ] {
            assert_eq!(Limited::of(&cgroup), expected, "{cgroup}");
        }
    }
}
