//! The events of the kubelet about a probe.
//!
//! `probe` and `recordContainerEvent`, `pkg/kubelet/prober/prober.go`; the reasons are those of
//! `pkg/kubelet/events/event.go`.

use super::attempt::{Attempt, Output, ProbeResult};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::ProbeType;
use serde::Serialize;

/// An event about a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeEvent {
    /// Always `Warning`: successes have no event.
    #[serde(rename = "type")]
    pub event_type: &'static str,
    /// `Unhealthy` or `ProbeWarning`.
    pub reason: &'static str,
    /// The text, with the output of the prober byte for byte.
    pub message: Output,
}

impl ProbeEvent {
    /// Returns the event about the attempt that decided, if there is one.
    ///
    /// ```text
    /// attempt          since 1.33                                          before
    /// error            Unhealthy, errored and resulted in RESULT state     Unhealthy, errored
    /// failure          Unhealthy, failed                                   the same
    /// unknown          none                                                Unhealthy, failed
    /// warning          ProbeWarning, warning                               the same
    /// success          none                                                none
    /// ```
    pub fn of(kind: ProbeType, attempt: &Attempt, rules: &KubeletRules) -> Option<Self> {
        let (reason, what, output) = match (&attempt.error, attempt.result) {
            (Some(error), result) if rules.names_state_of_probe_errors() => {
                let what = format!("errored and resulted in {result} state");
                ("Unhealthy", what, error.as_bytes())
            }
            (Some(error), _) => ("Unhealthy", "errored".to_owned(), error.as_bytes()),
            (None, ProbeResult::Success) => return None,
            (None, ProbeResult::Unknown) if rules.unknown_probes_are_no_event() => return None,
            (None, ProbeResult::Warning) => {
                ("ProbeWarning", "warning".to_owned(), attempt.output.0.as_slice())
            }
            (None, ProbeResult::Failure | ProbeResult::Unknown) => {
                ("Unhealthy", "failed".to_owned(), attempt.output.0.as_slice())
            }
        };
        let mut message = format!("{kind} probe {what}: ").into_bytes();
        message.extend_from_slice(output);
        Some(Self { event_type: "Warning", reason, message: Output(message) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_name_what_happened() {
        let attempt = |result, output: &[u8], error: Option<&str>| Attempt {
            result,
            output: output.to_vec().into(),
            error: error.map(str::to_owned),
            ..Attempt::default()
        };
        use ProbeResult::{Failure, Success, Unknown, Warning};
        let errored =
            Some(("Unhealthy", &b"Liveness probe errored and resulted in unknown state: e"[..]));
        for (name, version, attempt, expected) in [
            ("success", "1.36", attempt(Success, b"fine", None), None),
            ("unknown", "1.36", attempt(Unknown, b"what", None), None),
            (
                "unknown before",
                "1.32",
                attempt(Unknown, b"what", None),
                Some(("Unhealthy", &b"Liveness probe failed: what"[..])),
            ),
            (
                "bytes stay",
                "1.36",
                attempt(Failure, b"%s \xff\n", None),
                Some(("Unhealthy", &b"Liveness probe failed: %s \xff\n"[..])),
            ),
            (
                "warning",
                "1.36",
                attempt(Warning, b"moved", None),
                Some(("ProbeWarning", &b"Liveness probe warning: moved"[..])),
            ),
            ("error", "1.36", attempt(Unknown, b"lost", Some("e")), errored),
            (
                "error that came with a success",
                "1.36",
                attempt(Success, b"", Some("odd")),
                Some((
                    "Unhealthy",
                    &b"Liveness probe errored and resulted in success state: odd"[..],
                )),
            ),
            (
                "error before",
                "1.32",
                attempt(Unknown, b"", Some("e")),
                Some(("Unhealthy", &b"Liveness probe errored: e"[..])),
            ),
        ] {
            let rules = KubeletRules::for_version(version.parse().expect("a version"));
            let event = ProbeEvent::of(ProbeType::Liveness, &attempt, &rules);
            let got = event.as_ref().map(|event| (event.reason, event.message.0.as_slice()));
            assert_eq!(got, expected, "{name}");
        }
    }
}
