//! The same probe in the ways in which people try it by hand, and what the difference tells.
//!
//! The kubelet connects from the node to the pod's IP, with headers, a time limit and a way with redirects of
//! its own. Whoever looks with another program or from another place may see something else.

use super::{Attempt, Cause, Phase, ProbeResult};
use serde::Serialize;
use std::fmt;

/// A way to try a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// As the kubelet does.
    Kubelet,
    /// As curl does by itself: its own User-Agent, none of the probe's headers, no redirects, more time.
    Curl,
    /// As the kubelet does, but with curl's User-Agent.
    CurlUserAgent,
    /// As the kubelet does, but without the probe's own headers.
    WithoutHeaders,
    /// As the kubelet does, with more time.
    Patient,
    /// As the kubelet does, from inside the pod's network.
    InPod,
    /// From inside the pod's network, to 127.0.0.1.
    InPodLoopback,
    /// From the node to 127.0.0.1, which is the node and not the pod.
    NodeLoopback,
}

/// What came of one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The way.
    pub way: Way,
    /// The result as the kubelet would judge it.
    pub result: ProbeResult,
    /// What it would say.
    pub message: String,
    /// Why it is not a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The status code of the first answer, where HTTP was spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many redirects were followed.
    #[serde(skip_serializing_if = "is_none_followed")]
    pub redirects: usize,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// A connection came about.
    pub connected: bool,
    /// How long the kubelet waits, in microseconds; `None`: without end.
    #[serde(skip)]
    pub limit_us: Option<u64>,
}

impl Trial {
    /// Returns what came of an attempt.
    pub fn of(way: Way, attempt: &Attempt, took_us: u64, limit_us: Option<u64>) -> Self {
        let message = match &attempt.error {
            Some(error) => error.clone(),
            None => attempt.output.text().into_owned(),
        };
        let spoke = |phase: &Phase| matches!(phase, Phase::FirstByte | Phase::Body);
        Self {
            way,
            result: attempt.result,
            message,
            cause: attempt.cause,
            status: attempt.exchanges.first().and_then(|exchange| status_code(&exchange.head.0)),
            redirects: attempt.exchanges.len().saturating_sub(1),
            took_us,
            connected: !matches!(attempt.cause, Some(Cause::Lookup | Cause::Connect))
                && (attempt.result == ProbeResult::Success
                    || attempt.phases.iter().any(|time| spoke(&time.phase))),
            limit_us,
        }
    }

    /// Tells whether the kubelet would call it a success.
    fn is_good(&self) -> bool {
        matches!(self.result, ProbeResult::Success | ProbeResult::Warning)
    }
}

/// Returns the status code of an answer.
pub fn status_code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let code = line.split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// Names what the differences between the ways tell, the kubelet's being the one that counts.
pub fn differences(trials: &[Trial]) -> Vec<String> {
    let of = |way: Way| trials.iter().find(|trial| trial.way == way);
    let Some(kubelet) = of(Way::Kubelet) else { return Vec::new() };
    let mut said = Vec::new();
    if let Some(text) = place(kubelet, of(Way::InPod), of(Way::InPodLoopback)) {
        said.push(text);
    }
    if let Some(text) = of(Way::Patient).and_then(|patient| time(kubelet, patient)) {
        said.push(text);
    }
    if let Some(curl) = of(Way::Curl) {
        said.extend(request(kubelet, curl, of(Way::CurlUserAgent), of(Way::WithoutHeaders)));
    }
    if let Some(node) = of(Way::NodeLoopback).filter(|node| node.connected && !kubelet.connected) {
        said.push(format!(
            "127.0.0.1 on the node answers ({}), but that is the node's own network, not the pod's",
            node.message.lines().next().unwrap_or_default()
        ));
    }
    if said.is_empty() {
        let all_good = trials.iter().all(Trial::is_good);
        let same = trials
            .iter()
            .all(|trial| trial.is_good() == kubelet.is_good() && trial.status == kubelet.status);
        said.push(match (same, all_good) {
            (true, true) => "no difference: every way ends well".to_owned(),
            (true, false) => {
                "no difference: every way fails alike, so the cause is in the container, \
                              not in how it is asked"
                    .to_owned()
            }
            (false, _) => "the ways differ, but not in a way that kq can name".to_owned(),
        });
    }
    said
}

/// Says what the place tells: the node, the pod's network, its loopback.
fn place(kubelet: &Trial, pod: Option<&Trial>, loopback: Option<&Trial>) -> Option<String> {
    if kubelet.connected {
        return None;
    }
    let pod_works = pod.is_some_and(|pod| pod.connected);
    let loopback_works = loopback.is_some_and(|loopback| loopback.connected);
    match (pod_works, loopback_works) {
        (true, _) => Some(
            "the server answers inside the pod but not from the node: something between them (a \
             network policy, a firewall, the routes of the network plugin) stops the kubelet"
                .to_owned(),
        ),
        (false, true) => Some(
            "the server listens on 127.0.0.1 inside the pod only, and the kubelet connects to the \
             pod's IP: let it listen on 0.0.0.0 or [::]"
                .to_owned(),
        ),
        (false, false) if pod.is_some() => Some(
            "nobody answers inside the pod either: the server does not listen on that port, or hangs"
                .to_owned(),
        ),
        (false, false) => None,
    }
}

/// Says what the time limit tells.
fn time(kubelet: &Trial, patient: &Trial) -> Option<String> {
    let late = kubelet.cause == Some(Cause::Timeout) && patient.cause != Some(Cause::Timeout);
    let limit = kubelet.limit_us.filter(|_| late)?;
    Some(format!(
        "the answer comes after {}, and timeoutSeconds is {}: raise it, or find out what takes so long",
        crate::output::units::microseconds(patient.took_us),
        crate::output::units::microseconds(limit),
    ))
}

/// Says what the request tells: who asks, with which headers, and what becomes of redirects.
fn request(
    kubelet: &Trial,
    curl: &Trial,
    agent: Option<&Trial>,
    bare: Option<&Trial>,
) -> Vec<String> {
    let mut said = Vec::new();
    if kubelet.redirects > 0 {
        said.push(format!(
            "curl stops at status {} unless it is told -L; the kubelet follows redirects as long as the \
             host name stays the same, {} here",
            curl.status.unwrap_or_default(),
            kubelet.redirects
        ));
    } else if kubelet.result == ProbeResult::Warning {
        said.push(
            "the redirect leads to another host: the kubelet does not follow it and counts it as \
             success, whatever is there"
                .to_owned(),
        );
    }
    let (Some(theirs), Some(ours)) = (curl.status, kubelet.status) else { return said };
    if theirs == ours {
        return said;
    }
    let like_curl = |trial: &&Trial| trial.status == Some(theirs);
    said.push(match (agent.filter(like_curl), bare.filter(like_curl)) {
        (Some(_), _) => format!(
            "the server looks at User-Agent: it answers {ours} to the kubelet's and {theirs} to curl's"
        ),
        (None, Some(_)) => format!(
            "the probe's own httpHeaders make the difference: {ours} with them, {theirs} without"
        ),
        (None, None) => format!(
            "the server answers {ours} to the kubelet and {theirs} to curl; neither User-Agent nor the \
             probe's headers explain it alone"
        ),
    });
    said
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_followed(redirects: &usize) -> bool {
    *redirects == 0
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::Curl => "curl",
            Self::CurlUserAgent => "curl's User-Agent",
            Self::WithoutHeaders => "without httpHeaders",
            Self::Patient => "more time",
            Self::InPod => "in the pod",
            Self::InPodLoopback => "in the pod, 127.0.0.1",
            Self::NodeLoopback => "node, 127.0.0.1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(way: Way, status: Option<u16>, cause: Option<Cause>) -> Trial {
        Trial {
            way,
            result: match cause {
                None => ProbeResult::Success,
                Some(_) => ProbeResult::Failure,
            },
            message: String::new(),
            cause,
            status,
            redirects: 0,
            took_us: 2_000_000,
            connected: !matches!(cause, Some(Cause::Connect)),
            limit_us: Some(1_000_000),
        }
    }

    #[test]
    fn the_difference_that_matters_is_named() {
        let refused = Some(Cause::Connect);
        let unhealthy = Some(Cause::Unhealthy);
        let rows = [
            (
                "loopback only",
                vec![
                    trial(Way::Kubelet, None, refused),
                    trial(Way::InPod, None, refused),
                    trial(Way::InPodLoopback, Some(200), None),
                ],
                "listens on 127.0.0.1 inside the pod only",
            ),
            (
                "network policy",
                vec![
                    trial(Way::Kubelet, None, refused),
                    trial(Way::InPod, Some(200), None),
                    trial(Way::InPodLoopback, Some(200), None),
                ],
                "something between them",
            ),
            (
                "nobody",
                vec![
                    trial(Way::Kubelet, None, refused),
                    trial(Way::InPod, None, refused),
                    trial(Way::InPodLoopback, None, refused),
                ],
                "nobody answers inside the pod either",
            ),
            (
                "slow",
                vec![
                    trial(Way::Kubelet, None, Some(Cause::Timeout)),
                    trial(Way::Patient, Some(200), None),
                ],
                "comes after 2.00s, and timeoutSeconds is 1.00s",
            ),
            (
                "user agent",
                vec![
                    trial(Way::Kubelet, Some(403), unhealthy),
                    trial(Way::Curl, Some(200), None),
                    trial(Way::CurlUserAgent, Some(200), None),
                ],
                "looks at User-Agent: it answers 403",
            ),
            (
                "headers",
                vec![
                    trial(Way::Kubelet, Some(404), unhealthy),
                    trial(Way::Curl, Some(200), None),
                    trial(Way::CurlUserAgent, Some(404), unhealthy),
                    trial(Way::WithoutHeaders, Some(200), None),
                ],
                "httpHeaders make the difference: 404 with them, 200 without",
            ),
            (
                "alike",
                vec![trial(Way::Kubelet, Some(200), None), trial(Way::Curl, Some(200), None)],
                "every way ends well",
            ),
            (
                "alike and bad",
                vec![
                    trial(Way::Kubelet, Some(500), unhealthy),
                    trial(Way::Curl, Some(500), unhealthy),
                ],
                "every way fails alike",
            ),
        ];
        for (name, trials, expected) in rows {
            let said = differences(&trials).join("; ");
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    #[test]
    fn status_codes_are_read() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n", Some(200)),
            ("HTTP/2.0 503\r\n", Some(503)),
            ("HTTP/1.1 099 X\n", Some(99)),
            ("", None),
            ("220 ready\r\n", None),
        ] {
            assert_eq!(status_code(head.as_bytes()), expected, "{head:?}");
        }
    }
}
