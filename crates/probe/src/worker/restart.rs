//! Decides whether a container that ended restarts: its worker waits for it, or stops.
//!
//! `ContainerShouldRestart`, `ShouldAllContainersRestart` and the rules that they read,
//! `pkg/kubelet/container/helpers.go`; before the gate `ContainerRestartRules`, only the policy of the
//! pod (`doProbe`, `pkg/kubelet/prober/worker.go`).
//!
//! The actions of the kubelet for a result: `syncLoopIteration`, `pkg/kubelet/kubelet.go`, receives changed results; containers are killed
//! by `computePodActions` and `computeInitContainerActions`,
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go` and `kuberuntime_container.go`.

use super::facts::{PodFacts, State};
use crate::grace_period::GracePeriod;
use kq_answer::reason::Reason;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, ContainerRestartRule, Pod, PodSpec, ProbeType};
use serde::Serialize;

/// Whether it starts again, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartDecision {
    /// It does.
    pub restarts: bool,
    /// Why, or why not.
    pub cause: RestartCause,
}

/// What decides about a restart.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "by", case = "kebab-case")]
pub enum RestartCause {
    /// A rule of the container.
    #[text("its restart rule {place}: {action}", place = index + 1)]
    Rule {
        /// Its place among the rules, from 0.
        index: usize,
        /// `Restart` or `RestartAllContainers`.
        action: String,
    },
    /// The policy of the container.
    #[text("the container's restartPolicy {policy}")]
    ContainerPolicy { policy: String },
    /// The policy of the pod.
    #[text("the pod's restartPolicy {policy}")]
    PodPolicy { policy: String },
    /// It is a sidecar.
    #[text("it is a sidecar")]
    Sidecar,
    /// All containers of the pod restart, because another one ended.
    #[text("all containers restart because {container} ended")]
    OtherContainer {
        /// The one that ended.
        container: String,
    },
    /// All containers of the pod are being restarted.
    #[text("all containers are being restarted")]
    Condition,
}

/// Decides about a container that ended.
pub(super) fn after_exit(
    pod: &Pod,
    container: &Container,
    is_sidecar: bool,
    exit_code: i32,
    status: &PodFacts,
    rules: &KubeletRules,
) -> RestartDecision {
    let spec = &pod.spec;
    if !rules.gates.enabled(Gate::ContainerRestartRules) {
        if is_sidecar && rules.workers_wait_for_sidecars() {
            return RestartDecision { restarts: true, cause: RestartCause::Sidecar };
        }
        // Without the gate the exit code does not matter: the worker only checks for `Never`.
        let policy = pod_policy(spec);
        return RestartDecision {
            restarts: policy != "Never",
            cause: RestartCause::PodPolicy { policy: policy.to_owned() },
        };
    }
    let own = by_own_rules(spec, container, exit_code, rules);
    if own.restarts || !rules.gates.enabled(Gate::RestartAllContainersOnContainerExits) {
        return own;
    }
    if status.all_containers_restarting {
        return RestartDecision { restarts: true, cause: RestartCause::Condition };
    }
    match status.all().find(|ended| restarts_all(spec, &ended.name, ended.state)) {
        Some(ended) => RestartDecision {
            restarts: true,
            cause: RestartCause::OtherContainer { container: ended.name.clone() },
        },
        None => own,
    }
}

/// Returns true if a container that a probe has killed starts again. It has not ended by itself, so its
/// rules do not apply.
///
/// With the gate `ContainerRestartRules` the policy of the container counts before that of the pod
/// (assumed: `computePodActions`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
pub fn restarts_after_kill(pod: &Pod, container: &Container, rules: &KubeletRules) -> bool {
    let own = container.restart_policy.as_deref().filter(|policy| !policy.is_empty());
    let own = own.filter(|_| rules.gates.enabled(Gate::ContainerRestartRules));
    own.unwrap_or_else(|| pod_policy(&pod.spec)) != "Never"
}

fn by_own_rules(
    spec: &PodSpec,
    container: &Container,
    exit_code: i32,
    rules: &KubeletRules,
) -> RestartDecision {
    if let Some(policy) = &container.restart_policy {
        if let Some((index, rule)) = matching_rule(&container.restart_policy_rules, exit_code) {
            let all = rules.gates.enabled(Gate::RestartAllContainersOnContainerExits);
            if rule.action == "Restart" || (rule.action == "RestartAllContainers" && all) {
                let cause = RestartCause::Rule { index, action: rule.action.clone() };
                return RestartDecision { restarts: true, cause };
            }
        }
        if let Some(restarts) = by_policy(policy, exit_code) {
            let cause = RestartCause::ContainerPolicy { policy: policy.clone() };
            return RestartDecision { restarts, cause };
        }
    }
    let policy = pod_policy(spec);
    RestartDecision {
        restarts: by_policy(policy, exit_code).unwrap_or(true),
        cause: RestartCause::PodPolicy { policy: policy.to_owned() },
    }
}

/// Returns true if the end of a container has every container of its pod restarted.
fn restarts_all(spec: &PodSpec, name: &str, state: State) -> bool {
    let State::Terminated { exit_code } = state else { return false };
    let mut containers = spec.containers_and_init();
    let container = containers.find(|container| container.name == name);
    let rule = container.and_then(|it| matching_rule(&it.restart_policy_rules, exit_code));
    rule.is_some_and(|(_, rule)| rule.action == "RestartAllContainers")
}

/// Returns the first rule that fits an exit code.
fn matching_rule(
    rules: &[ContainerRestartRule],
    exit_code: i32,
) -> Option<(usize, &ContainerRestartRule)> {
    rules.iter().enumerate().find(|(_, rule)| {
        rule.exit_codes.as_ref().is_some_and(|codes| {
            let named = codes.values.contains(&exit_code);
            match codes.operator.as_str() {
                "In" => named,
                "NotIn" => !named,
                _ => false,
            }
        })
    })
}

fn by_policy(policy: &str, exit_code: i32) -> Option<bool> {
    match policy {
        "Always" => Some(true),
        "OnFailure" => Some(exit_code != 0),
        "Never" => Some(false),
        _ => None,
    }
}

fn pod_policy(spec: &PodSpec) -> &str {
    if spec.restart_policy.is_empty() { "Always" } else { &spec.restart_policy }
}

/// What the kubelet does.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "do", case = "kebab-case")]
pub enum Action {
    /// It kills the container.
    #[text("kill: {message}")]
    Kill {
        /// What it says about it, in an event too.
        message: String,
        /// The container starts again.
        restarts: bool,
        /// How long the container may take to stop.
        grace_period: GracePeriod,
    },
    /// The container may get requests.
    #[text("ready")]
    Ready,
    /// The container gets no requests: neither does its pod.
    #[text("not ready")]
    NotReady,
    /// The container has started: the other probes begin.
    #[text("started")]
    Started,
}

impl Action {
    /// Returns what the kubelet says about a container that it kills.
    pub fn kill_message(
        kind: ProbeType,
        container: &str,
        is_sidecar: bool,
        restarts: bool,
    ) -> String {
        let probe = kind.to_string().to_ascii_lowercase();
        let (what, then) = match (is_sidecar, restarts) {
            (true, _) => ("Init container", ""),
            (false, true) => ("Container", ", will be restarted"),
            (false, false) => ("Container", ""),
        };
        format!("{what} {container} failed {probe} probe{then}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn decision(spec: Value, version: &str, exit_code: i32, other: Option<i32>) -> (bool, String) {
        let pod: Pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
        let sidecar = pod.spec.init_containers.first();
        let container = sidecar.or(pod.spec.containers.first()).expect("a container");
        let other = other.map(|exit_code| super::super::facts::ContainerFacts {
            name: "other".to_owned(),
            state: State::Terminated { exit_code },
            ..Default::default()
        });
        let status = PodFacts { containers: other.into_iter().collect(), ..PodFacts::default() };
        let rules = KubeletRules::for_version(version.parse().expect("a version"));
        let is_sidecar = sidecar.is_some();
        let got = after_exit(&pod, container, is_sidecar, exit_code, &status, &rules);
        (got.restarts, got.cause.to_string())
    }

    fn rule(action: &str, operator: &str, values: &[i32]) -> Value {
        json!({ "action": action, "exitCodes": { "operator": operator, "values": values } })
    }

    #[test]
    fn rules_come_before_policies() {
        let with = |pod: &str, policy: &str, rules: Vec<Value>| {
            let container =
                json!({ "name": "app", "restartPolicy": policy, "restartPolicyRules": rules });
            json!({ "restartPolicy": pod, "containers": [container] })
        };
        let plain = |pod: &str| json!({ "restartPolicy": pod, "containers": [{ "name": "app" }] });
        let cases = [
            ("nothing said", plain(""), "1.36", 0, (true, "the pod's restartPolicy Always")),
            ("always", plain("Always"), "1.36", 0, (true, "the pod's restartPolicy Always")),
            (
                "ended well",
                plain("OnFailure"),
                "1.36",
                0,
                (false, "the pod's restartPolicy OnFailure"),
            ),
            ("failed", plain("OnFailure"), "1.36", 1, (true, "the pod's restartPolicy OnFailure")),
            ("never", plain("Never"), "1.36", 1, (false, "the pod's restartPolicy Never")),
            (
                "before the gate the code does not matter",
                plain("OnFailure"),
                "1.32",
                0,
                (true, "the pod's restartPolicy OnFailure"),
            ),
            (
                "a rule",
                with("Never", "Never", vec![rule("Restart", "In", &[1, 2])]),
                "1.36",
                2,
                (true, "its restart rule 1: Restart"),
            ),
            (
                "the first that fits",
                with(
                    "Always",
                    "Never",
                    vec![rule("Other", "NotIn", &[2]), rule("Restart", "In", &[1])],
                ),
                "1.36",
                1,
                (false, "the container's restartPolicy Never"),
            ),
            (
                "restart all where it is unknown",
                with("Always", "Never", vec![rule("RestartAllContainers", "In", &[1])]),
                "1.35",
                1,
                (false, "the container's restartPolicy Never"),
            ),
            (
                "restart all",
                with("Always", "Never", vec![rule("RestartAllContainers", "In", &[1])]),
                "1.36",
                1,
                (true, "its restart rule 1: RestartAllContainers"),
            ),
            (
                "container policy",
                with("Never", "OnFailure", vec![]),
                "1.36",
                1,
                (true, "the container's restartPolicy OnFailure"),
            ),
        ];
        for (name, spec, version, exit_code, expected) in cases {
            let got = decision(spec, version, exit_code, None);
            assert_eq!((got.0, got.1.as_str()), expected, "{name}");
        }
    }

    #[test]
    fn others_and_sidecars_count() {
        let other = json!({ "name": "other", "restartPolicy": "Never",
            "restartPolicyRules": [rule("RestartAllContainers", "In", &[7])] });
        let spec = json!({ "restartPolicy": "Never", "containers": [{ "name": "app" }, other] });
        let all = "all containers restart because other ended".to_owned();
        assert_eq!(decision(spec.clone(), "1.36", 0, Some(7)), (true, all));
        assert!(!decision(spec.clone(), "1.36", 0, Some(8)).0, "another code");
        assert!(!decision(spec, "1.35", 0, Some(7)).0, "before the gate");
        let sidecar = json!({ "restartPolicy": "Never", "containers": [{ "name": "app" }],
            "initContainers": [{ "name": "log", "restartPolicy": "Always" }] });
        assert!(decision(sidecar.clone(), "1.36", 0, None).0, "its own policy");
        assert!(decision(sidecar.clone(), "1.33", 0, None).0, "before the gate");
        assert!(!decision(sidecar, "1.32", 0, None).0, "1.32 made no exception");
    }

    #[test]
    fn what_a_probe_kills_goes_by_policies_alone() {
        for (pod, container, version, expected) in [
            ("Always", None, "1.36", true),
            ("OnFailure", None, "1.36", true),
            ("Never", None, "1.36", false),
            ("Never", Some("Always"), "1.36", true),
            ("Always", Some("Never"), "1.36", false),
            ("Always", Some("Never"), "1.32", true),
        ] {
            let spec = PodSpec { restart_policy: pod.to_owned(), ..PodSpec::default() };
            let pod = Pod { spec, ..Pod::default() };
            let restart_policy = container.map(str::to_owned);
            let container = Container { restart_policy, ..Container::default() };
            let rules = KubeletRules::for_version(version.parse().expect("a version"));
            let got = restarts_after_kill(&pod, &container, &rules);
            assert_eq!(got, expected, "{pod:?} {container:?} {version}");
        }
    }

    #[test]
    fn messages_are_the_kubelets() {
        let message = Action::kill_message;
        for (got, expected) in [
            (
                message(ProbeType::Liveness, "app", false, true),
                "Container app failed liveness probe, will be restarted",
            ),
            (
                message(ProbeType::Startup, "app", false, false),
                "Container app failed startup probe",
            ),
            (
                message(ProbeType::Startup, "log", true, true),
                "Init container log failed startup probe",
            ),
            (
                message(ProbeType::Liveness, "log", true, true),
                "Init container log failed liveness probe",
            ),
        ] {
            assert_eq!(got, expected);
        }
    }
}
