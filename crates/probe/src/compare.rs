//! Compares the results of the same probe, sent as the kubelet does and in the ways commonly tried by hand.
//!
//! The kubelet connects from the node to the pod's IP, with its own headers, time limit and rules for redirects.
//! Another program, or another place, can have another result.

mod way;

use super::reason::Difference;
use super::{Attempt, Cause, Phase, ProbeResult, Target, host_of, is_loopback};
use serde::Serialize;
pub use way::Way;

/// The result of one way.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    pub way: Way,
    /// The result as the kubelet would judge it.
    pub result: ProbeResult,
    /// The message of the prober.
    pub message: String,
    /// The reason, if it is not a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The status codes of HTTP responses; all but the last were redirects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<u16>,
    /// The duration, in microseconds.
    pub took_us: u64,
    /// A connection was established.
    pub connected: bool,
    /// The time limit of the kubelet, in microseconds; `None`: none.
    #[serde(skip)]
    pub limit_us: Option<u64>,
}

impl Trial {
    /// Returns the result of an attempt.
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

    /// Returns true if the kubelet would call it a success.
    fn is_good(&self) -> bool {
        matches!(self.result, ProbeResult::Success | ProbeResult::Warning)
    }

    /// Returns true if the server may require TLS for this plain request. Go servers respond with 400, others send an
    /// alert or close the connection.
    pub fn may_be_of_tls(&self) -> bool {
        let answers = !matches!(self.cause, Some(Cause::Connect | Cause::Lookup | Cause::Request));
        !self.is_good() && answers && matches!(self.status(), None | Some(400))
    }

    /// Returns true if a TLS connection was established.
    fn speaks_tls(&self) -> bool {
        !self.statuses.is_empty() || matches!(self.cause, Some(Cause::Protocol | Cause::Unhealthy))
    }

    /// Returns the status code that counts.
    fn status(&self) -> Option<u16> {
        self.statuses.last().copied()
    }
}

/// The properties of a probe that matter to a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The probe names a host that is the node itself.
    pub host_is_node: bool,
    /// The pod has the node's network.
    pub host_network: bool,
    /// It uses HTTPS.
    pub is_tls: bool,
    /// It is an HTTP probe.
    pub is_http: bool,
    /// It is a gRPC probe.
    pub is_grpc: bool,
    /// It is the probe of a pod.
    pub is_of_pod: bool,
}

impl Compared {
    /// Returns the properties of a probe that matter to a comparison.
    pub fn of(target: &Target) -> Self {
        let probe = target.container_spec().and_then(|it| it.probe(target.probe_type));
        let get = probe.and_then(|probe| probe.http_get.as_ref());
        let (host_network, is_of_pod) = (target.pod.spec.host_network, target.name.pod.is_some());
        Self {
            host_is_node: !host_network
                && is_of_pod
                && probe.is_some_and(|probe| is_loopback(host_of(probe))),
            host_network,
            is_tls: get.is_some_and(|get| get.scheme.eq_ignore_ascii_case("https")),
            is_http: get.is_some(),
            is_grpc: probe.is_some_and(|probe| probe.grpc.is_some()),
            is_of_pod,
        }
    }

    /// Returns the ways that are tried first. `enters_pod`: the pod's network can be entered.
    pub fn first_ways(&self, ip: &str, enters_pod: bool) -> Vec<Way> {
        let has_loopback = self.is_of_pod && ip != Way::LOOPBACK && !self.host_is_node;
        let ways = [
            (Way::Kubelet, true),
            (Way::Curl, self.is_http),
            (Way::InPodLoopback, has_loopback && self.host_network),
            (Way::NodeLoopback, has_loopback && !self.host_network),
            (Way::InPod, enters_pod),
            (Way::InPodLoopback, enters_pod),
        ];
        ways.into_iter().filter_map(|(way, is_tried)| is_tried.then_some(way)).collect()
    }

    /// Returns the ways that can explain the results of the first ones.
    pub fn further_ways(&self, trials: &[Trial]) -> Vec<Way> {
        let of = |way| trials.iter().find(|trial| trial.way == way);
        let kubelet = of(Way::Kubelet);
        let is_plain = !self.is_tls && (self.is_http || self.is_grpc);
        let first = |trial: Option<&Trial>| trial?.statuses.first().copied();
        let differs = matches!(
            (first(of(Way::Curl)), first(kubelet)),
            (Some(theirs), Some(ours)) if theirs != ours
        );
        let timed_out = kubelet.is_some_and(|trial| trial.cause == Some(Cause::Timeout));
        let ways = [
            (Way::Patient, timed_out),
            (Way::Tls, is_plain && kubelet.is_some_and(Trial::may_be_of_tls)),
            (Way::CurlUserAgent, differs),
            (Way::WithoutHeaders, differs),
        ];
        ways.into_iter().filter_map(|(way, is_tried)| is_tried.then_some(way)).collect()
    }
}

/// Returns the status code of an answer.
pub fn status_code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let code = line.split(|byte| *byte == b' ').nth(1)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// Returns the explanations of the differences to the kubelet's way.
pub fn differences(trials: &[Trial], compared: Compared) -> Vec<Difference> {
    let of = |way: Way| trials.iter().find(|trial| trial.way == way);
    let Some(kubelet) = of(Way::Kubelet) else { return vec![Difference::NothingToSend] };
    let (pod, loopback) = (of(Way::InPod), of(Way::InPodLoopback));
    let mut found = Vec::new();
    if compared.host_is_node {
        found.push(Difference::HostIsTheNode);
    } else if !kubelet.connected && matches!(kubelet.cause, Some(Cause::Connect | Cause::Timeout)) {
        found.extend(place(pod, loopback, compared.host_network));
    }
    if of(Way::Tls).is_some_and(Trial::speaks_tls) && !kubelet.is_good() {
        found.push(Difference::SpeaksTls { is_grpc: compared.is_grpc });
    }
    found.extend(of(Way::Patient).and_then(|patient| time(kubelet, patient)));
    if let Some(curl) = of(Way::Curl) {
        found.extend(redirects(kubelet, curl));
        found.extend(request(kubelet, curl, of(Way::CurlUserAgent), of(Way::WithoutHeaders)));
        if compared.is_tls {
            found.push(Difference::CertificateNotVerified);
        }
    }
    if let Some(node) = of(Way::NodeLoopback).filter(|node| node.connected && !kubelet.connected) {
        let message = node.message.lines().next().unwrap_or_default().to_owned();
        found.push(Difference::NodeAnswers { message });
    }
    if found.is_empty() {
        // A server without TLS always fails the attempt with TLS.
        let plain: Vec<&Trial> = trials.iter().filter(|trial| trial.way != Way::Tls).collect();
        found.push(alike(&plain, kubelet, pod.is_some()));
    }
    found
}

/// Returns the explanation if no difference was found.
fn alike(trials: &[&Trial], kubelet: &Trial, in_pod: bool) -> Difference {
    let same =
        |trial: &&Trial| trial.is_good() == kubelet.is_good() && trial.status() == kubelet.status();
    match (trials, trials.iter().all(same), kubelet.is_good()) {
        ([_], ..) => Difference::OnlyWay,
        (_, false, _) => Difference::Unnamed,
        (_, true, true) => Difference::AllSucceed,
        (_, true, false) => Difference::AllFail { in_pod },
    }
}

/// Compares the places: the node, the pod's network, its loopback.
fn place(pod: Option<&Trial>, loopback: Option<&Trial>, host_network: bool) -> Option<Difference> {
    let works = |trial: Option<&Trial>| trial.is_some_and(|trial| trial.connected);
    if works(pod) {
        return Some(Difference::UnreachableFromNode);
    }
    if works(loopback) {
        return Some(Difference::LoopbackOnly { host_network });
    }
    pod.map(|_| Difference::NotListening)
}

/// Compares the time limits.
fn time(kubelet: &Trial, patient: &Trial) -> Option<Difference> {
    let late = kubelet.cause == Some(Cause::Timeout) && patient.cause != Some(Cause::Timeout);
    let timeout_us = kubelet.limit_us.filter(|_| late)?;
    Some(Difference::TooSlow { took_us: patient.took_us, timeout_us })
}

/// Compares the redirects.
fn redirects(kubelet: &Trial, curl: &Trial) -> Option<Difference> {
    let redirects = kubelet.statuses.len().saturating_sub(1);
    let (kubelet_status, curl_status) = (kubelet.status(), curl.status());
    match redirects {
        1.. => Some(Difference::RedirectsFollowed { redirects, kubelet_status, curl_status }),
        0 => (kubelet.cause == Some(Cause::Redirect)).then_some(Difference::RedirectElsewhere),
    }
}

/// Compares the requests: User-Agent and headers.
fn request(
    kubelet: &Trial,
    curl: &Trial,
    agent: Option<&Trial>,
    bare: Option<&Trial>,
) -> Option<Difference> {
    let (curl_status, kubelet_status) = (curl.status()?, *kubelet.statuses.first()?);
    let like_curl = |trial: &&Trial| trial.statuses.first() == Some(&curl_status);
    let difference = match (agent.filter(like_curl), bare.filter(like_curl)) {
        (Some(_), _) => Difference::UserAgent { kubelet_status, curl_status },
        (None, Some(_)) => Difference::Headers { kubelet_status, curl_status },
        (None, None) => Difference::Unexplained { kubelet_status, curl_status },
    };
    (curl_status != kubelet_status).then_some(difference)
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

    fn text(differences: &[Difference]) -> String {
        let all: Vec<String> = differences.iter().map(Difference::to_string).collect();
        all.join("; ")
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
                "no server",
                vec![
                    trial(Way::Kubelet, None, refused),
                    trial(Way::InPod, None, refused),
                    trial(Way::InPodLoopback, None, refused),
                ],
                "no answer inside the pod either",
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
                "depends on User-Agent: the server answers 403",
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
                "every way succeeds",
            ),
            (
                "alike and bad",
                vec![
                    trial(Way::Kubelet, Some(500), unhealthy),
                    trial(Way::Curl, Some(500), unhealthy),
                ],
                "every way fails in the same way; none was tried from inside the pod",
            ),
            (
                "TLS",
                vec![
                    trial(Way::Kubelet, Some(400), unhealthy),
                    trial(Way::Curl, Some(400), unhealthy),
                    trial(Way::Tls, Some(200), None),
                ],
                "set scheme: HTTPS",
            ),
            (
                "no TLS",
                vec![
                    trial(Way::Kubelet, Some(400), unhealthy),
                    trial(Way::Curl, Some(400), unhealthy),
                    trial(Way::Tls, None, Some(Cause::Tls)),
                ],
                "every way fails in the same way",
            ),
            ("alone", vec![trial(Way::Kubelet, None, refused)], "no other way could be tried"),
            ("nothing to send", vec![], "nothing can be sent"),
        ];
        for (name, trials, expected) in rows {
            let said = text(&differences(&trials, Compared::default()));
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    #[test]
    fn what_is_compared_matters() {
        let refused = Some(Cause::Connect);
        let node = Compared { host_is_node: true, ..Compared::default() };
        let shared = Compared { host_network: true, ..Compared::default() };
        let tls = Compared { is_tls: true, ..Compared::default() };
        let grpc = Compared { is_grpc: true, ..Compared::default() };
        let closed = Some(Cause::Protocol);
        let secure = vec![trial(Way::Kubelet, None, closed), trial(Way::Tls, Some(415), closed)];
        let at_loopback =
            vec![trial(Way::Kubelet, None, refused), trial(Way::InPodLoopback, Some(200), None)];
        let fine = vec![trial(Way::Kubelet, Some(200), None), trial(Way::Curl, Some(200), None)];
        for (name, trials, compared, expected) in [
            ("host", at_loopback.clone(), node, "the kubelet probes the node, not the pod"),
            ("shared network", at_loopback, shared, "on 127.0.0.1 of the node only"),
            ("gRPC through TLS", secure, grpc, "the kubelet never sends gRPC probes through TLS"),
            ("certificates", fine, tls, "curl verifies the certificate without -k"),
        ] {
            let said = text(&differences(&trials, compared));
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
