//! From attempts to the conclusion for the worker: an attempt with an error is repeated.
//!
//! `probe`, `runProbeWithRetries` and `runProbe`, `pkg/kubelet/prober/prober.go`. The caller
//! makes the attempts, one after the other and without a pause, until [`Retry::next`] returns a
//! conclusion.
//!
//! Pinned by `probe_retry.jsonl`.

use super::address::resolve_port;
use super::attempt::{Attempt, Cause, ProbeResult};
use super::events::ProbeEvent;
use super::results::Verdict;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Handler, ObjectMeta, Probe, ProbeType};

/// How many attempts there are at most (`maxProbeRetries`).
pub const MAX_ATTEMPTS: usize = 3;

/// The attempts of one run of a probe.
#[derive(Clone, Debug)]
pub struct Retry {
    kind: ProbeType,
    rules: KubeletRules,
    attempts: Vec<Attempt>,
}

/// What follows from an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The prober erred: another attempt, at once.
    Again,
    /// It is decided.
    Done(Conclusion),
}

/// The conclusion of a run of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// What the prober reports: success, of a warning too, or failure.
    pub result: Verdict,
    /// The error of the last attempt; with one, the worker throws the result away.
    pub error: Option<String>,
    /// Every attempt, in order; the last one counts. Empty if the container has no such probe.
    pub attempts: Vec<Attempt>,
    /// The event of the kubelet.
    pub event: Option<ProbeEvent>,
}

impl Retry {
    /// Begins a run.
    pub fn new(kind: ProbeType, rules: KubeletRules) -> Self {
        Self { kind, rules, attempts: Vec::new() }
    }

    /// Takes an attempt, and returns the conclusion or the need for another attempt.
    ///
    /// The first attempt without error decides, whatever its result; after three errors the last one
    /// does.
    pub fn next(&mut self, attempt: Attempt) -> Next {
        let again = attempt.error.is_some() && self.attempts.len() + 1 < MAX_ATTEMPTS;
        self.attempts.push(attempt);
        if again {
            return Next::Again;
        }
        Next::Done(Conclusion::of(self.kind, std::mem::take(&mut self.attempts), &self.rules))
    }
}

impl Conclusion {
    /// Returns the conclusion of a run without attempts: the container has no such probe.
    pub fn without_probe() -> Self {
        Self { result: Verdict::Success, error: None, attempts: Vec::new(), event: None }
    }

    /// Returns the conclusion of attempts; the last one is repeated while the prober would retry.
    pub fn of_repeating(kind: ProbeType, attempts: &[Attempt], rules: KubeletRules) -> Self {
        let Some(last) = attempts.last() else { return Self::without_probe() };
        let mut retry = Retry::new(kind, rules);
        for attempt in attempts.iter().chain(std::iter::repeat(last)) {
            if let Next::Done(conclusion) = retry.next(attempt.clone()) {
                return conclusion;
            }
        }
        unreachable!("a run ends after {MAX_ATTEMPTS} attempts")
    }

    fn of(kind: ProbeType, attempts: Vec<Attempt>, rules: &KubeletRules) -> Self {
        let Some(last) = attempts.last() else { return Self::without_probe() };
        let well = matches!(last.result, ProbeResult::Success | ProbeResult::Warning);
        let result = if well && last.error.is_none() { Verdict::Success } else { Verdict::Failure };
        let event = ProbeEvent::of(kind, last, rules);
        Self { result, error: last.error.clone(), event, attempts }
    }

    /// Returns true if the worker counts the result.
    pub fn is_used_by_worker(&self) -> bool {
        self.error.is_none()
    }

    /// Returns the attempt that decided.
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.last()
    }
}

/// Returns the attempt of a probe that fails before anything is sent: it names no way to probe, or a
/// port that is none. `None`: there is something to send.
pub fn unusable(probe: &Probe, pod: &ObjectMeta, container: &Container) -> Option<Attempt> {
    let port = match probe.handler() {
        None => {
            let (name, namespace, uid) = (&pod.name, &pod.namespace, &pod.uid);
            let container = &container.name;
            let error = format!("missing probe handler for {name}_{namespace}({uid}):{container}");
            return Some(Attempt::error(Cause::Request, error));
        }
        Some(Handler::HttpGet(http)) => &http.port,
        Some(Handler::TcpSocket(tcp)) => &tcp.port,
        Some(Handler::Exec(_) | Handler::Grpc(_)) => return None,
    };
    let error = resolve_port(port, &container.ports).err()?;
    Some(Attempt::error(Cause::Request, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(text: &str) -> Attempt {
        let (result, error) = text.split_once('!').unwrap_or((text, ""));
        let result = match result {
            "success" => ProbeResult::Success,
            "warning" => ProbeResult::Warning,
            "failure" => ProbeResult::Failure,
            _ => ProbeResult::Unknown,
        };
        let error = text.contains('!').then(|| error.to_owned());
        Attempt { result, error, ..Attempt::default() }
    }

    #[test]
    fn only_errors_are_tried_again() {
        for (name, attempts, made, result, error) in [
            ("success", &["success"][..], 1, Verdict::Success, None),
            ("warning", &["warning"], 1, Verdict::Success, None),
            ("failure", &["failure", "success"], 1, Verdict::Failure, None),
            ("unknown", &["unknown", "success"], 1, Verdict::Failure, None),
            ("errors", &["unknown!a", "failure!b", "unknown!c"], 3, Verdict::Failure, Some("c")),
            ("one error repeats", &["unknown!a"], 3, Verdict::Failure, Some("a")),
            ("an error, then not", &["unknown!a", "success"], 2, Verdict::Success, None),
            (
                "the third decides",
                &["unknown!a", "unknown!b", "failure"],
                3,
                Verdict::Failure,
                None,
            ),
            ("success with an error", &["success!odd"], 3, Verdict::Failure, Some("odd")),
            ("an empty error", &["success!"], 3, Verdict::Failure, Some("")),
        ] {
            let attempts: Vec<Attempt> = attempts.iter().map(|text| attempt(text)).collect();
            let rules = KubeletRules::default();
            let got = Conclusion::of_repeating(ProbeType::Liveness, &attempts, rules);
            assert_eq!(
                (got.attempts.len(), got.result, got.error.as_deref()),
                (made, result, error),
                "{name}"
            );
            assert_eq!(got.is_used_by_worker(), error.is_none(), "{name}");
        }
        let none = Conclusion::of_repeating(ProbeType::Liveness, &[], KubeletRules::default());
        assert_eq!(none, Conclusion::without_probe());
    }

    #[test]
    fn unusable_probes_err_by_name() {
        let pod = ObjectMeta {
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            uid: "1234".to_owned(),
            ..ObjectMeta::default()
        };
        let container = Container { name: "c".to_owned(), ..Container::default() };
        for (name, probe, expected) in [
            ("nothing", "{}", Some("missing probe handler for web_default(1234):c")),
            ("exec first", r#"{"exec":{},"httpGet":{"port":0}}"#, None),
            ("tcp", r#"{"tcpSocket":{"port":0}}"#, Some("invalid port number: 0")),
            (
                "http before tcp",
                r#"{"tcpSocket":{"port":0},"httpGet":{"port":"x"}}"#,
                Some("strconv.Atoi: parsing \"x\": invalid syntax"),
            ),
            ("usable", r#"{"httpGet":{"port":80}}"#, None),
            ("grpc", r#"{"grpc":{"port":0}}"#, None),
        ] {
            let probe: Probe = serde_json::from_str(probe).expect("a probe");
            let got = unusable(&probe, &pod, &container).and_then(|attempt| attempt.error);
            assert_eq!(got.as_deref(), expected, "{name}");
        }
    }
}
