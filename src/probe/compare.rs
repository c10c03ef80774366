//! The same probe in the ways in which people try it by hand, and what the difference tells.
//!
//! The kubelet connects from the node to the pod's IP, with headers, a time limit and a way with redirects of
//! its own. Whoever looks with another program or from another place may see something else.

use super::{Attempt, Cause, Phase, ProbeResult};
use serde::Serialize;
use std::fmt;

/// A way to try a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
    /// The status codes of the answers, where HTTP was spoken; all but the last were redirects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<u16>,
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
        let heads = attempt.exchanges.iter().map(|exchange| status_code(&exchange.head.0));
        let beyond = |phase: &Phase| {
            matches!(phase, Phase::Tls | Phase::Settings | Phase::FirstByte | Phase::Body)
        };
        Self {
            way,
            result: attempt.result,
            message,
            cause: attempt.cause,
            statuses: heads.flatten().collect(),
            took_us,
            connected: attempt.result == ProbeResult::Success
                || attempt.phases.iter().any(|time| beyond(&time.phase)),
            limit_us,
        }
    }

    /// Tells whether the kubelet would call it a success.
    fn is_good(&self) -> bool {
        matches!(self.result, ProbeResult::Success | ProbeResult::Warning)
    }

    /// Returns the status code that counts.
    fn status(&self) -> Option<u16> {
        self.statuses.last().copied()
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The probe names a host that is the node itself.
    pub host_is_node: bool,
    /// The pod has the node's network.
    pub host_network: bool,
    /// It goes through TLS.
    pub is_tls: bool,
}

/// Returns the status code of an answer.
pub fn status_code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let code = line.split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// Names what the differences between the ways tell, the kubelet's being the one that counts.
pub fn differences(trials: &[Trial], compared: Compared) -> Vec<String> {
    let of = |way: Way| trials.iter().find(|trial| trial.way == way);
    let Some(kubelet) = of(Way::Kubelet) else {
        return vec!["nothing can be sent, in no way".to_owned()];
    };
    let (pod, loopback) = (of(Way::InPod), of(Way::InPodLoopback));
    let mut said = Vec::new();
    if compared.host_is_node {
        said.push(
            "the probe names a host that is the node itself: the kubelet asks the node, not the pod; \
             leave host out"
                .to_owned(),
        );
    } else if !kubelet.connected && matches!(kubelet.cause, Some(Cause::Connect | Cause::Timeout)) {
        said.extend(place(pod, loopback, compared.host_network));
    }
    if let Some(text) = of(Way::Patient).and_then(|patient| time(kubelet, patient)) {
        said.push(text);
    }
    if let Some(curl) = of(Way::Curl) {
        said.extend(request(kubelet, curl, of(Way::CurlUserAgent), of(Way::WithoutHeaders)));
        if compared.is_tls {
            said.push(
                "curl verifies the certificate unless it is told -k, which was taken for granted here; \
                 the kubelet never does"
                    .to_owned(),
            );
        }
    }
    if let Some(node) = of(Way::NodeLoopback).filter(|node| node.connected && !kubelet.connected) {
        let says = node.message.lines().next().unwrap_or_default();
        said.push(format!(
            "127.0.0.1 on the node answers ({says}), but that is the node's own network, not the pod's"
        ));
    }
    if said.is_empty() {
        said.push(alike(trials, kubelet, pod.is_some()));
    }
    said
}

/// Says what it tells that there is nothing to name.
fn alike(trials: &[Trial], kubelet: &Trial, from_inside: bool) -> String {
    let same =
        |trial: &Trial| trial.is_good() == kubelet.is_good() && trial.status() == kubelet.status();
    match (trials, trials.iter().all(same), kubelet.is_good(), from_inside) {
        ([_], ..) => "there is no other way to try it from here".to_owned(),
        (_, false, ..) => "the ways differ, but not in a way that kq can name".to_owned(),
        (_, true, true, _) => "no difference: every way ends well".to_owned(),
        (_, true, false, true) => {
            "no difference: every way fails alike, from inside the pod too; the \
                                   cause is in the container, not in how it is asked"
                .to_owned()
        }
        (_, true, false, false) => {
            "no difference: every way fails alike; from inside the pod it was not \
                                    tried"
                .to_owned()
        }
    }
}

/// Says what the place tells: the node, the pod's network, its loopback.
fn place(pod: Option<&Trial>, loopback: Option<&Trial>, host_network: bool) -> Option<String> {
    let works = |trial: Option<&Trial>| trial.is_some_and(|trial| trial.connected);
    if works(pod) {
        return Some(
            "the server answers inside the pod but not from the node: something between them (a \
             network policy, a firewall, the routes of the network plugin) stops the kubelet"
                .to_owned(),
        );
    }
    if works(loopback) {
        let place = if host_network { "of the node" } else { "inside the pod" };
        return Some(format!(
            "the server listens on 127.0.0.1 {place} only, and the kubelet connects to the pod's IP: let \
             it listen on 0.0.0.0 or [::]"
        ));
    }
    pod.map(|_| {
        "nobody answers inside the pod either: the server does not listen on that port, or hangs"
            .to_owned()
    })
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
    let followed = kubelet.statuses.len().saturating_sub(1);
    if followed > 0 {
        said.push(format!(
            "curl stops at status {} unless it is told -L; the kubelet follows redirects as long as the \
             host name stays the same, {followed} here, and ends at status {}",
            curl.status().unwrap_or_default(),
            kubelet.status().unwrap_or_default(),
        ));
    } else if kubelet.cause == Some(Cause::Redirect) {
        said.push(
            "the redirect leads to another host: the kubelet does not follow it and counts it as \
             success, whatever is there"
                .to_owned(),
        );
    }
    let first = kubelet.statuses.first().copied();
    let (Some(theirs), Some(ours)) = (curl.status(), first) else { return said };
    if theirs == ours {
        return said;
    }
    let like_curl = |trial: &&Trial| trial.statuses.first() == Some(&theirs);
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
            statuses: status.into_iter().collect(),
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
                "every way fails alike; from inside the pod it was not tried",
            ),
            ("alone", vec![trial(Way::Kubelet, None, refused)], "no other way to try it"),
            ("nothing to send", vec![], "nothing can be sent"),
        ];
        for (name, trials, expected) in rows {
            let said = differences(&trials, Compared::default()).join("; ");
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    #[test]
    fn what_is_compared_matters() {
        let refused = Some(Cause::Connect);
        let node = Compared { host_is_node: true, ..Compared::default() };
        let shared = Compared { host_network: true, ..Compared::default() };
        let tls = Compared { is_tls: true, ..Compared::default() };
        let at_loopback =
            vec![trial(Way::Kubelet, None, refused), trial(Way::InPodLoopback, Some(200), None)];
        let fine = vec![trial(Way::Kubelet, Some(200), None), trial(Way::Curl, Some(200), None)];
        for (name, trials, compared, expected) in [
            ("host", at_loopback.clone(), node, "the kubelet asks the node, not the pod"),
            ("shared network", at_loopback, shared, "on 127.0.0.1 of the node only"),
            ("certificates", fine, tls, "curl verifies the certificate unless it is told -k"),
        ] {
            let said = differences(&trials, compared).join("; ");
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
