//! The Node object's conditions and the kubelet's certificates.

use super::rule::{Certificates, Conditions, NodeFinding, NodeRule};
use crate::explain::explain_message;
use crate::kubelet_start::StartFinding;
use crate::question::start::KubeletStart;
use kq_answer::{Failure, Severity, WarningCode};
use kq_eviction::EvictionRank;
use kq_facts::certificates::{Certificate, CertificateUsage};
use kq_facts::kubelet_config::{EffectiveConfiguration, PressureCondition, Signal};
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::terminal::brief;

/// The ranks of all signals, as [`eviction_ranks`](crate::question::eviction::eviction_ranks) returns them.
pub(super) type EvictionRanks = Result<Vec<Result<EvictionRank, Failure>>, Failure>;

/// Returns after which age a heartbeat is stale. The kubelet reports once in `nodeStatusReportFrequency`, here doubled for its
/// jitter of up to a half and for a slow API server, with the next of its updates (`isUpdateStatusPeriodExpired`,
/// `pkg/kubelet/kubelet_node_status.go`).
fn stale_seconds(config: &EffectiveConfiguration) -> i64 {
    let report = config.node_status_report_frequency.0.saturating_mul(2);
    // What is updated seldom, and reported more often by its setting, is reported with the updates.
    let update = config.node_status_update_frequency.0.max(0);
    let wait = if update > GoDuration::MINUTE.0 { update } else { 0 };
    report.saturating_add(wait) / GoDuration::SECOND.0
}

/// A certificate should have been renewed at 90% of its validity, however short that is (`jitteryDuration` in
/// `util/certificate/certificate_manager.go` of client-go).
const RENEWED_PERCENT: i64 = 90;

/// A CA certificate is replaced by hand, on all nodes: a month is short.
const AUTHORITY_SECONDS: i64 = 30 * 86_400;

/// Clocks differ by seconds.
const AHEAD_SECONDS: i64 = 60;

/// A younger kubelet may be in a restart loop.
const YOUNG_SECONDS: i64 = 120;

/// Returns what is said of the kubelet's next start: what stops it, or that nothing does.
pub(super) fn start(node: &Node, start: &KubeletStart) -> Vec<NodeFinding> {
    let of_node = |finding| NodeRule::KubeletStart(finding).of_node();
    // The check of the configuration has the fields that the kubelet's own one lacks: `/configz` has none of them.
    let mut of_config = node.kubelet.warnings.iter();
    let has_ignored = of_config.any(|it| it.code == WarningCode::IgnoredField);
    let is_shown = |finding: &StartFinding| match finding {
        StartFinding::Ignores { knows_all: true, .. } => true,
        StartFinding::Ignores { .. }
        | StartFinding::Drops { .. }
        | StartFinding::OtherCase { .. } => !has_ignored,
        _ => finding.severity() != Severity::Warning,
    };
    let mut findings: Vec<NodeFinding> = start
        .findings
        .iter()
        .filter(|(finding, _)| is_shown(finding))
        .map(|(finding, source)| {
            source.iter().copied().fold(of_node(finding.clone()), NodeFinding::from)
        })
        .collect();
    let on_disk = node.config_on_disk();
    let source = match (&on_disk.file, &node.snapshot.kubelet_config.found) {
        (Some(file), _) => file.path.clone(),
        (None, Some(found)) => found.source.clone(),
        (None, None) => "the kubelet's files".to_owned(),
    };
    if start.starts == Some(true) {
        let version = node.kubelet.version.to_string();
        let not_checked = start.not_checked();
        findings.push(of_node(StartFinding::Starts { version, not_checked }));
    }
    findings.into_iter().map(|it| if it.source.is_none() { it.from(&source) } else { it }).collect()
}

/// Returns what the process, the Node object and the certificates say.
pub(super) fn object(node: &Node, ranks: &EvictionRanks) -> Vec<NodeFinding> {
    let age = kubelet_age(node).into_iter();
    let conditions = conditions(node, ranks);
    age.chain(conditions).chain(certificates(&node.snapshot, node.now)).collect()
}

/// Returns a finding about a kubelet that started a moment ago.
fn kubelet_age(node: &Node) -> Option<NodeFinding> {
    let start = node.kubelet_start.as_ref()?;
    let age_seconds = now_to(start.at, node.now);
    (age_seconds < YOUNG_SECONDS)
        .then(|| NodeRule::KubeletAge { age_seconds }.of_node().from(&start.source))
}

fn conditions(node: &Node, ranks: &EvictionRanks) -> Vec<NodeFinding> {
    let (snapshot, now) = (&node.snapshot, node.now);
    let Some(found) = &snapshot.node.found else {
        let reason = match snapshot.node.was_not_queried() {
            true => "the Node object was not queried".to_owned(),
            false => format!("the Node object is unknown: {}", snapshot.node.reason()),
        };
        return vec![finding(Conditions::Unknown { reason }, None)];
    };
    let source = Some(found.source.as_str());
    let status = &found.value.status;
    let mut findings = Vec::new();
    let Some(ready) = status.conditions.iter().find(|it| it.kind == "Ready") else {
        let reason = "the Node object has no condition Ready".to_owned();
        return vec![finding(Conditions::Unknown { reason }, source)];
    };
    let heartbeat = ready.last_heartbeat_time.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    if let Some(heartbeat) = heartbeat {
        let age_seconds = now.since(heartbeat) / GoDuration::SECOND.0;
        if age_seconds > stale_seconds(node.config()) {
            let report_frequency = node.config().node_status_report_frequency;
            let is_known = !node.lacks_config();
            let stale = Conditions::Stale { heartbeat, age_seconds, report_frequency, is_known };
            findings.push(finding(stale, source));
        }
        if age_seconds < -AHEAD_SECONDS {
            let ahead =
                Conditions::Ahead { heartbeat, ahead_seconds: age_seconds.saturating_neg() };
            findings.push(finding(ahead, source));
        }
    }
    if ready.status != "True" {
        let (status, reason) = (ready.status.clone(), ready.reason.clone());
        let message = brief(&ready.message).into_owned();
        let action = explain_message(&message).ok().map(|explained| explained.action);
        let rule = Conditions::NotReady { status, reason, message, action };
        findings.push(finding(rule, source));
    }
    let network = status.conditions.iter().find(|it| it.kind == "NetworkUnavailable");
    if let Some(network) = network.filter(|it| it.status == "True") {
        let message = brief(&network.message).into_owned();
        findings.push(finding(Conditions::NoNetwork { message }, source));
    }
    let (short, _) = status.pressure();
    let (mut conditions, mut over) = (Vec::new(), Vec::new());
    for condition in short {
        match signal_of_over(condition, ranks) {
            Some(signal) => over.push((condition, signal)),
            None => conditions.push(condition.as_str().to_owned()),
        }
    }
    if !conditions.is_empty() {
        findings.push(finding(Conditions::Pressure { conditions }, source));
    }
    let transition_period = node.config().eviction_pressure_transition_period;
    findings.extend(over.into_iter().map(|(condition, signal)| {
        let condition = condition.as_str().to_owned();
        finding(Conditions::PressureOver { condition, signal, transition_period }, source)
    }));
    if findings.is_empty() {
        findings.push(finding(Conditions::Ok, source));
    }
    findings
}

/// Returns a signal of a condition where no threshold of the condition is crossed; `None`: one is, or may be.
fn signal_of_over(condition: PressureCondition, ranks: &EvictionRanks) -> Option<Signal> {
    let ranks = ranks.as_ref().ok()?;
    // A signal without its measurements may be of the condition.
    let known: Vec<&EvictionRank> =
        ranks.iter().map(|it| it.as_ref().ok()).collect::<Option<_>>()?;
    let of_condition = || known.iter().filter(|rank| rank.condition == condition);
    let mut thresholds = of_condition().flat_map(|rank| &rank.thresholds).peekable();
    thresholds.peek()?;
    let is_over = thresholds.all(|row| row.met == Some(false));
    of_condition().map(|rank| rank.signal).next().filter(|_| is_over)
}

fn finding(state: Conditions, source: Option<&str>) -> NodeFinding {
    let found = NodeRule::NodeConditions(state).of_node();
    source.into_iter().fold(found, NodeFinding::from)
}

fn certificates(snapshot: &Snapshot, now: Timestamp) -> Vec<NodeFinding> {
    let certificates = &snapshot.certificates;
    let finding = |state| NodeRule::Certificates(state).of_node();
    let mut findings: Vec<NodeFinding> = certificates
        .tried
        .iter()
        .map(|failed| finding(Certificates::Unknown { reason: failed.to_string() }))
        .collect();
    let Some(known) = &certificates.found else {
        if certificates.was_not_queried() {
            let reason = "the kubelet's certificates were not read".to_owned();
            findings.push(finding(Certificates::Unknown { reason }));
        }
        return findings;
    };
    let node = snapshot.node.value().map(|node| node.metadata.name.as_str());
    let mut healthy: Option<(&Certificate, i64)> = None;
    for certificate in &known.value {
        let Certificate { path, usage, not_before, not_after, .. } = certificate.clone();
        let seconds_left = now_to(now, not_after);
        let mut add = |state| findings.push(finding(state).from(&known.source));
        if seconds_left <= 0 {
            add(Certificates::Expired { path, usage, not_after });
        } else if now < not_before {
            add(Certificates::NotYet { path, usage, not_before, now });
        } else if let Some((subject, node)) = other_node(certificate, node) {
            add(Certificates::OtherNode { path, usage, subject, node });
        } else if ends_soon(certificate, seconds_left) {
            add(Certificates::Expires { path, usage, not_after, seconds_left });
        } else if healthy.is_none_or(|(_, least)| seconds_left < least) {
            healthy = Some((certificate, seconds_left));
        }
    }
    if findings.is_empty()
        && let Some((certificate, seconds_left)) = healthy
    {
        let path = certificate.path.clone();
        findings.push(finding(Certificates::Ok { seconds_left, path }).from(&known.source));
    }
    findings
}

/// Returns true if a certificate should have been renewed. No rule renews an authority.
fn ends_soon(certificate: &Certificate, seconds_left: i64) -> bool {
    match certificate.usage {
        CertificateUsage::Client | CertificateUsage::Serving => {
            let validity = now_to(certificate.not_before, certificate.not_after).max(1);
            100 - seconds_left.saturating_mul(100) / validity > RENEWED_PERCENT
        }
        CertificateUsage::ServerAuthority | CertificateUsage::ClientAuthority => {
            seconds_left < AUTHORITY_SECONDS
        }
    }
}

/// Returns the node of a client certificate and that of the Node object, where they differ: the node authorizer lets a
/// kubelet change its own node alone.
fn other_node(certificate: &Certificate, node: Option<&str>) -> Option<(String, String)> {
    let node =
        node.filter(|name| !name.is_empty() && certificate.usage == CertificateUsage::Client)?;
    let mut parts = certificate.subject.split(',').map(str::trim);
    let subject = parts.find_map(|part| part.strip_prefix("CN=system:node:"))?;
    (subject != node).then(|| (subject.to_owned(), node.to_owned()))
}

/// Returns the seconds between two times.
fn now_to(now: Timestamp, later: Timestamp) -> i64 {
    later.since(now) / GoDuration::SECOND.0
}
