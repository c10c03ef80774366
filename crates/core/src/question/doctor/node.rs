//! The Node object's conditions and the kubelet's certificates.

use super::rule::{Certificates, Conditions, NodeFinding, NodeRule};
use crate::explain::explain_message;
use crate::kubelet_start::StartFinding;
use crate::question::start::KubeletStart;
use kq_answer::Severity;
use kq_facts::certificates::Certificate;
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::terminal::brief;

/// The kubelet reports at least this often: `nodeStatusReportFrequency`, doubled for a slow API server.
const STALE_SECONDS: i64 = 2 * 300;

/// A certificate should have been renewed at 90% of its validity, however short that is (`jitteryDuration` in
/// `util/certificate/certificate_manager.go` of client-go).
const RENEWED_PERCENT: i64 = 90;

const SECONDS_OF_DAY: i64 = 86_400;

/// A younger kubelet may be in a restart loop.
const YOUNG_SECONDS: i64 = 120;

/// Returns what is said of the kubelet's next start: what stops it, or that nothing does.
pub(super) fn start(node: &Node, start: &KubeletStart) -> Vec<NodeFinding> {
    let of_node = |finding| NodeRule::KubeletStart(finding).of_node();
    let is_shown = |finding: &StartFinding| finding.severity() != Severity::Warning;
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
pub(super) fn object(node: &Node) -> Vec<NodeFinding> {
    let age = kubelet_age(node).into_iter();
    let conditions = conditions(&node.snapshot, node.now);
    age.chain(conditions).chain(certificates(&node.snapshot, node.now)).collect()
}

/// Returns a finding about a kubelet that started a moment ago.
fn kubelet_age(node: &Node) -> Option<NodeFinding> {
    let start = node.kubelet_start.as_ref()?;
    let age_seconds = now_to(start.at, node.now);
    (age_seconds < YOUNG_SECONDS)
        .then(|| NodeRule::KubeletAge { age_seconds }.of_node().from(&start.source))
}

fn conditions(snapshot: &Snapshot, now: Timestamp) -> Vec<NodeFinding> {
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
        if age_seconds > STALE_SECONDS {
            findings.push(finding(Conditions::Stale { heartbeat, age_seconds }, source));
        }
    }
    if ready.status != "True" {
        let (status, reason) = (ready.status.clone(), ready.reason.clone());
        let message = brief(&ready.message).into_owned();
        let action = explain_message(&message).ok().map(|explained| explained.action);
        let rule = Conditions::NotReady { status, reason, message, action };
        findings.push(finding(rule, source));
    }
    let (short, _) = status.pressure();
    if !short.is_empty() {
        let conditions = short.iter().map(|it| it.as_str().to_owned()).collect();
        findings.push(finding(Conditions::Pressure { conditions }, source));
    }
    if findings.is_empty() {
        findings.push(finding(Conditions::Ok, source));
    }
    findings
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
    let days_left = |it: &Certificate| now_to(now, it.not_after) / SECONDS_OF_DAY;
    let mut healthy: Option<(&Certificate, i64)> = None;
    for certificate in &known.value {
        let Certificate { path, usage, not_before, not_after, .. } = certificate.clone();
        let left = now_to(now, not_after);
        let validity = now_to(not_before, not_after).max(1);
        let passed = 100 - left.saturating_mul(100) / validity;
        let days = days_left(certificate);
        if left <= 0 {
            findings.push(
                finding(Certificates::Expired { path, usage, not_after }).from(&known.source),
            );
        } else if passed > RENEWED_PERCENT {
            let expires = Certificates::Expires { path, usage, not_after, days_left: days };
            findings.push(finding(expires).from(&known.source));
        } else if healthy.is_none_or(|(_, least)| days < least) {
            healthy = Some((certificate, days));
        }
    }
    if findings.is_empty()
        && let Some((certificate, days_left)) = healthy
    {
        let path = certificate.path.clone();
        findings.push(finding(Certificates::Ok { days_left, path }).from(&known.source));
    }
    findings
}

/// Returns the seconds between two times.
fn now_to(now: Timestamp, later: Timestamp) -> i64 {
    later.since(now) / GoDuration::SECOND.0
}
