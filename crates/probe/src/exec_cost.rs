//! What the exec probes cost: each run starts a process in the container, through the runtime.
//!
//! The worker runs the probe once in a period, from then on as long as the container lives (`probe_worker.run`,
//! `pkg/kubelet/prober/worker.go`, read in 1.36.2). A startup probe ends when it succeeds, and does not count.

use super::plan::PlannedProbe;
use super::subject::HandlerKind;
use kq_k8s::pod::ProbeType;
use kq_output::units::counted;
use serde::Serialize;

const SECONDS_PER_HOUR: u64 = 3600;

/// What the exec probes of a container cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecCost {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// The container.
    pub container: String,
    /// How many exec probes it has, without startup probes.
    pub probes: usize,
    /// How many processes they start in an hour.
    pub processes_per_hour: u64,
}

/// Returns how many processes an exec probe starts in an hour.
pub fn per_hour(period_seconds: i32) -> u64 {
    SECONDS_PER_HOUR / u64::try_from(period_seconds.max(1)).unwrap_or(1)
}

/// Returns what the exec probes of each container cost, in the order of the probes.
pub(super) fn exec_costs(probes: &[PlannedProbe]) -> Vec<ExecCost> {
    let mut costs: Vec<ExecCost> = Vec::new();
    let counts = |it: &&PlannedProbe| {
        it.handler == Some(HandlerKind::Exec)
            && it.probe_type != ProbeType::Startup
            && it.error.is_none()
    };
    for probe in probes.iter().filter(counts) {
        let pod = super::view::pod(&probe.name);
        let container = probe.name.container.clone().unwrap_or_default();
        let rate = per_hour(probe.timing.period_seconds);
        match costs.iter_mut().find(|it| (&it.pod, &it.container) == (&pod, &container)) {
            Some(cost) => {
                cost.probes += 1;
                cost.processes_per_hour += rate;
            }
            None => costs.push(ExecCost { pod, container, probes: 1, processes_per_hour: rate }),
        }
    }
    costs
}

/// How many containers are named; JSON has all.
const NAMED: usize = 5;

/// Returns the costs in one sentence, those of the most processes first; `None`: there is no exec probe.
pub(super) fn sentence(costs: &[ExecCost]) -> Option<String> {
    let probes = costs.iter().map(|it| it.probes).sum();
    let total = costs.iter().map(|it| it.processes_per_hour).sum();
    let mut sorted: Vec<&ExecCost> = costs.iter().collect();
    sorted.sort_by_key(|it| std::cmp::Reverse(it.processes_per_hour));
    let named = sorted.iter().take(NAMED).map(|it| {
        let ExecCost { pod, container, processes_per_hour, .. } = it;
        let (count, unit) = rate(*processes_per_hour);
        format!("{pod} {container} {count} per {unit}")
    });
    let more = match costs.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {} more (-o json)", counted(more, "container")),
    };
    let (count, unit) = rate(total);
    let start = if probes == 1 { "starts" } else { "start" };
    let processes = if count == 1 { "process" } else { "processes" };
    (probes > 0).then(|| {
        format!(
            "{} {start} {count} {processes} per {unit}: {}{more}; their CPU is unknown: the kernel counts it as the \
             container's",
            counted(probes, "exec probe"),
            named.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Returns a rate by the minute, or by the hour where it is less than one a minute.
fn rate(per_hour: u64) -> (u64, &'static str) {
    match per_hour {
        0..60 => (per_hour, "hour"),
        _ => (per_hour / 60, "minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(pod: &str, probes: usize, processes_per_hour: u64) -> ExecCost {
        ExecCost { pod: pod.to_owned(), container: "c".to_owned(), probes, processes_per_hour }
    }

    #[test]
    fn costs_are_one_sentence() {
        assert_eq!(sentence(&[]), None);
        assert_eq!(
            sentence(&[cost("a/slow", 1, 12), cost("a/fast", 2, 720)]).as_deref(),
            Some(
                "3 exec probes start 12 processes per minute: a/fast c 12 per minute, a/slow c 12 per hour; their CPU is unknown: the kernel counts it as the container's"
            )
        );
        let many: Vec<ExecCost> = (0..7).map(|it| cost(&format!("a/{it}"), 1, 60)).collect();
        let text = sentence(&many).expect("a sentence");
        assert!(text.contains("a/4 c 1 per minute, and 2 containers more (-o json)"), "{text}");
    }

    #[test]
    fn a_period_gives_a_rate() {
        for (period, expected) in [(1, 3600), (5, 720), (7, 514), (3600, 1), (0, 3600)] {
            assert_eq!(per_hour(period), expected, "{period}");
        }
    }
}
