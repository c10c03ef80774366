//! Reads a trace.

use super::At;
use super::changes::{Changes, ERROR, TraceAttempt, TraceState};
use super::error::TraceError;
use super::field::{Fields, Place, word, wrong};
use super::{KIND, Trace, TraceContainer, TraceKubelet, TracePod, TraceProbe, TraceStep};
use crate::attempt::ProbeResult;
use crate::worker::ProbeTiming;
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::snapshot::API_VERSION;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ContainerRestartRule, ExitCodes, Probe, ProbeType};
use kq_k8s::version::KubeletVersion;
use kq_k8s::yaml::{self, YamlError};
use serde_json::Value;
use std::collections::BTreeMap;

const FIELDS: &[&str] =
    &["apiVersion", "kind", "type", "probe", "container", "pod", "kubelet", "start", "steps"];

/// What a probe of a pod has; the ways to probe are passed over, so that one can be pasted.
const PROBE: &[&str] = &[
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
    "exec",
    "httpGet",
    "tcpSocket",
    "grpc",
];
const CONTAINER: &[&str] = &["name", "sidecar", "restartPolicy", "restartPolicyRules"];
const POD: &[&str] = &["restartPolicy", "terminationGracePeriodSeconds"];
const KUBELET: &[&str] = &["version", "featureGates", "startedAt"];
const RULE: &[&str] = &["action", "exitCodes"];
const EXIT_CODES: &[&str] = &["operator", "values"];
const ATTEMPT: &[&str] = &["result", "message", "error"];
const STEP: &[&str] = &[
    "at",
    "result",
    "message",
    "error",
    "attempts",
    "restarted",
    "containerID",
    "state",
    "exitCode",
    "startedAt",
    "started",
    "phase",
    "deleted",
    "statusUnknown",
    "allContainersRestarting",
];

const TYPES: &[(&str, ProbeType)] = &[
    ("liveness", ProbeType::Liveness),
    ("readiness", ProbeType::Readiness),
    ("startup", ProbeType::Startup),
];
const STATES: &[(&str, TraceState)] = &[
    ("waiting", TraceState::Waiting),
    ("running", TraceState::Running),
    ("terminated", TraceState::Terminated),
];
/// The words for results; `None` is the error of a prober.
const RESULTS: &[(&str, Option<ProbeResult>)] = &[
    ("success", Some(ProbeResult::Success)),
    ("warning", Some(ProbeResult::Warning)),
    ("failure", Some(ProbeResult::Failure)),
    (ERROR, None),
    ("unknown", Some(ProbeResult::Unknown)),
];
const PHASES: &[(&str, &str)] = &[
    ("Pending", "Pending"),
    ("Running", "Running"),
    ("Succeeded", "Succeeded"),
    ("Failed", "Failed"),
    ("Unknown", "Unknown"),
];
const POLICIES: &[(&str, &str)] =
    &[("Always", "Always"), ("OnFailure", "OnFailure"), ("Never", "Never")];
const ACTIONS: &[(&str, &str)] =
    &[("Restart", "Restart"), ("RestartAllContainers", "RestartAllContainers")];
const OPERATORS: &[(&str, &str)] = &[("In", "In"), ("NotIn", "NotIn")];

const A_MOMENT: &str = "a duration from the start such as 30s, or a time such as \
                        2026-11-20T12:00:00Z";

/// Returns the trace in the answer of a live run, or what is no such answer as it is.
fn of_run(value: Value) -> Result<Value, TraceError> {
    if value.get("kind").and_then(Value::as_str) != Some(RUN) {
        return Ok(value);
    }
    let probes = value.get("probes").and_then(Value::as_array).map(Vec::as_slice);
    let mut traces = probes.unwrap_or_default().iter().filter_map(|probe| probe.get("trace"));
    match (traces.next(), traces.count()) {
        (Some(trace), 0) => Ok(trace.clone()),
        (first, more) => Err(TraceError::Run { traces: more + usize::from(first.is_some()) }),
    }
}

/// What the answer of a live run calls itself.
const RUN: &str = "ProbeRun";

/// Reads a trace.
pub(super) fn parse(content: &[u8], warnings: &mut Vec<Warning>) -> Result<Trace, TraceError> {
    let value = of_run(value(content, warnings)?)?;
    let root = Place::Root;
    // The fields of another kind of file are not reported.
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        let found = value.get(field).unwrap_or(&Value::Null);
        if value.is_object() && found != expected {
            let found = match found {
                Value::Null => "missing".to_owned(),
                found => super::field::shown(found),
            };
            return Err(TraceError::Kind { field, found, expected });
        }
    }
    let fields = Fields::of(&root, &value, FIELDS)?;
    let probe_type = fields.word("type", TYPES)?;
    let probe_type =
        probe_type.ok_or_else(|| fields.missing("type", "liveness, readiness or startup"))?;
    let trace = Trace {
        probe: probe(&fields)?,
        container: container(&fields)?,
        pod: pod(&fields)?,
        kubelet: kubelet(&fields)?,
        start: fields.read("start", "a time such as 2026-11-20T12:00:00Z", |value| {
            value.as_str()?.parse::<Timestamp>().ok()
        })?,
        steps: steps(&fields)?,
        ..Trace::new(probe_type)
    };
    check_times(&trace)?;
    Ok(trace)
}

/// Returns the one value of a file.
fn value(content: &[u8], warnings: &mut Vec<Warning>) -> Result<Value, TraceError> {
    let text = str::from_utf8(content).map_err(|_| TraceError::NotText)?;
    // JSON is YAML too, and read many times faster as what it is.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let documents: Vec<_> =
        yaml::documents(text).into_iter().filter(|document| !document.is_empty()).collect();
    let [document] = documents.as_slice() else {
        return Err(TraceError::Documents(documents.len()));
    };
    let read = yaml::read(document.body()).map_err(|error| match error {
        YamlError::Syntax { line, column, message } => TraceError::Syntax(format!(
            "line {}, column {column}: {message}",
            line + document.lines_before
        )),
        too_large @ YamlError::TooLarge { .. } => TraceError::Syntax(too_large.to_string()),
    })?;
    if let Some(duplicate) = read.duplicate {
        let key = duplicate.key.unwrap_or_default();
        let line = duplicate.line + document.lines_before;
        let text = format!("line {line}: key {key:?} came before; the last one counts");
        warnings.push(Warning::new(WarningCode::DuplicateKey, text).about(key));
    }
    Ok(read.value)
}

fn probe(fields: &Fields<'_, '_>) -> Result<TraceProbe, TraceError> {
    let Some(value) = fields.get("probe") else { return Ok(TraceProbe::default()) };
    let place = fields.place("probe");
    let fields = Fields::of(&place, value, PROBE)?;
    let number = |name: &str| {
        let read = |value: &Value| i32::try_from(value.as_i64()?).ok().filter(|it| *it >= 0);
        Ok(fields.read(name, "a whole number of at least 0", read)?.unwrap_or_default())
    };
    let probe = Probe {
        initial_delay_seconds: number("initialDelaySeconds")?,
        timeout_seconds: number("timeoutSeconds")?,
        period_seconds: number("periodSeconds")?,
        success_threshold: number("successThreshold")?,
        failure_threshold: number("failureThreshold")?,
        ..Probe::default()
    };
    let grace = fields.int64("terminationGracePeriodSeconds")?;
    Ok(TraceProbe { timing: ProbeTiming::of(&probe), termination_grace_period_seconds: grace })
}

fn container(fields: &Fields<'_, '_>) -> Result<TraceContainer, TraceError> {
    let default = TraceContainer::default();
    let Some(value) = fields.get("container") else { return Ok(default) };
    let place = fields.place("container");
    let fields = Fields::of(&place, value, CONTAINER)?;
    let policy = fields.word("restartPolicy", POLICIES)?.map(str::to_owned);
    let sidecar = fields.bool("sidecar")?.unwrap_or_default();
    if sidecar && policy.as_deref().is_some_and(|policy| policy != "Always") {
        let place = fields.place("restartPolicy").to_string();
        let value = fields.get("restartPolicy").map(super::field::shown).unwrap_or_default();
        let expected = "Always, which makes an init container a sidecar".to_owned();
        return Err(TraceError::Value { path: place, value, expected, nearest: None });
    }
    let list = fields.place("restartPolicyRules");
    let rules = fields.list("restartPolicyRules")?.iter().enumerate();
    let rules = rules.map(|(index, value)| restart_rule(&Place::Index(&list, index), value));
    Ok(TraceContainer {
        name: fields.text("name")?.map_or(default.name, str::to_owned),
        sidecar,
        restart_policy: policy.filter(|_| !sidecar),
        restart_policy_rules: rules.collect::<Result<_, _>>()?,
    })
}

fn restart_rule(place: &Place<'_>, value: &Value) -> Result<ContainerRestartRule, TraceError> {
    let fields = Fields::of(place, value, RULE)?;
    let action = fields.word("action", ACTIONS)?;
    let action =
        action.ok_or_else(|| fields.missing("action", "Restart or RestartAllContainers"))?;
    let exit_codes = match fields.get("exitCodes") {
        None => None,
        Some(value) => {
            let place = fields.place("exitCodes");
            let fields = Fields::of(&place, value, EXIT_CODES)?;
            let operator = fields.word("operator", OPERATORS)?;
            let operator = operator.ok_or_else(|| fields.missing("operator", "In or NotIn"))?;
            let list = fields.place("values");
            let values = fields.list("values")?.iter().enumerate().map(|(index, value)| {
                let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
                number.ok_or_else(|| wrong(&Place::Index(&list, index), value, "an exit code"))
            });
            let values = values.collect::<Result<_, _>>()?;
            Some(ExitCodes { operator: operator.to_owned(), values })
        }
    };
    Ok(ContainerRestartRule { action: action.to_owned(), exit_codes })
}

fn pod(fields: &Fields<'_, '_>) -> Result<TracePod, TraceError> {
    let default = TracePod::default();
    let Some(value) = fields.get("pod") else { return Ok(default) };
    let place = fields.place("pod");
    let fields = Fields::of(&place, value, POD)?;
    let grace = fields.int64("terminationGracePeriodSeconds")?;
    Ok(TracePod {
        restart_policy: fields
            .word("restartPolicy", POLICIES)?
            .map_or(default.restart_policy, str::to_owned),
        termination_grace_period_seconds: grace.unwrap_or(default.termination_grace_period_seconds),
    })
}

fn kubelet(fields: &Fields<'_, '_>) -> Result<TraceKubelet, TraceError> {
    let Some(value) = fields.get("kubelet") else { return Ok(TraceKubelet::default()) };
    let place = fields.place("kubelet");
    let fields = Fields::of(&place, value, KUBELET)?;
    let version = fields.read("version", "a version in quotes, such as \"1.36\"", |value| {
        let text = value.as_str()?;
        text.parse::<KubeletVersion>().is_ok().then(|| text.to_owned())
    })?;
    let mut feature_gates = BTreeMap::new();
    if let Some(value) = fields.get("featureGates") {
        let place = fields.place("featureGates");
        let entries = value.as_object();
        let entries =
            entries.ok_or_else(|| wrong(&place, value, "a map of gates to true or false"))?;
        for (name, value) in entries {
            let on = value.as_bool();
            let on =
                on.ok_or_else(|| wrong(&Place::Field(&place, name), value, "true or false"))?;
            feature_gates.insert(name.clone(), on);
        }
    }
    Ok(TraceKubelet { version, feature_gates, started_at: moment(&fields, "startedAt")? })
}

fn steps(fields: &Fields<'_, '_>) -> Result<Vec<TraceStep>, TraceError> {
    if fields.get("steps").is_none() {
        return Err(fields.missing("steps", "a list such as [success, failure, failure]"));
    }
    let place = fields.place("steps");
    let steps = fields.list("steps")?.iter().enumerate();
    steps.map(|(index, value)| step(&Place::Index(&place, index), value)).collect()
}

fn step(place: &Place<'_>, value: &Value) -> Result<TraceStep, TraceError> {
    if value.is_string() {
        let attempts = vec![bare(place, value)?];
        return Ok(TraceStep { attempts, ..TraceStep::default() });
    }
    let fields = Fields::of(place, value, STEP)?;
    let attempts = match (fields.get("result"), fields.get("attempts")) {
        (Some(_), Some(_)) => {
            let path = fields.place("result").to_string();
            return Err(TraceError::Both { path, other: "attempts" });
        }
        (Some(_), None) => vec![attempt(&fields)?],
        (None, list) => {
            if let Some(text) = ["message", "error"].into_iter().find(|it| fields.get(it).is_some())
            {
                let path = fields.place(text).to_string();
                return Err(TraceError::Alone { path, with: "result" });
            }
            let place = fields.place("attempts");
            if list.and_then(Value::as_array).is_some_and(Vec::is_empty) {
                let value = list.unwrap_or(&Value::Null);
                return Err(wrong(&place, value, "at least one, or no such field"));
            }
            let attempts = fields.list("attempts")?.iter().enumerate();
            let one = |(index, value): (usize, &Value)| {
                let place = Place::Index(&place, index);
                if value.is_string() {
                    return bare(&place, value);
                }
                attempt(&Fields::of(&place, value, ATTEMPT)?)
            };
            attempts.map(one).collect::<Result<_, _>>()?
        }
    };
    Ok(TraceStep { at: moment(&fields, "at")?, attempts, changes: changes(&fields)? })
}

/// Reads an attempt that is a word.
fn bare(place: &Place<'_>, value: &Value) -> Result<TraceAttempt, TraceError> {
    Ok(match word(place, value, RESULTS)? {
        Some(result) => TraceAttempt { result, ..TraceAttempt::default() },
        None => TraceAttempt { error: Some(String::new()), ..TraceAttempt::default() },
    })
}

/// Reads an attempt that has fields.
fn attempt(fields: &Fields<'_, '_>) -> Result<TraceAttempt, TraceError> {
    let result = fields.word("result", RESULTS)?;
    let result = result
        .ok_or_else(|| fields.missing("result", "success, warning, failure, error or unknown"))?;
    let message = fields.text("message")?.unwrap_or_default().to_owned();
    let error = fields.text("error")?.map(str::to_owned);
    match (result, error) {
        (Some(result), error) => Ok(TraceAttempt { result, message, error }),
        (None, None) => Ok(TraceAttempt { error: Some(message), ..TraceAttempt::default() }),
        (None, Some(_)) => Err(TraceError::Both {
            path: fields.place("error").to_string(),
            other: "result: error",
        }),
    }
}

fn changes(fields: &Fields<'_, '_>) -> Result<Changes, TraceError> {
    let changes = Changes {
        restarted: fields.bool("restarted")?.unwrap_or_default(),
        container_id: fields.text("containerID")?.map(str::to_owned),
        state: fields.word("state", STATES)?,
        exit_code: fields.int32("exitCode")?,
        started_at: moment(fields, "startedAt")?,
        started: fields.bool("started")?,
        phase: fields.word("phase", PHASES)?.map(str::to_owned),
        deleted: fields.bool("deleted")?,
        status_unknown: fields.bool("statusUnknown")?,
        all_containers_restarting: fields.bool("allContainersRestarting")?,
    };
    let alone = |name, with| Err(TraceError::Alone { path: fields.place(name).to_string(), with });
    match (changes.state, changes.exit_code, changes.started_at) {
        (Some(TraceState::Waiting | TraceState::Running), Some(_), _) => {
            alone("exitCode", "state: terminated")
        }
        (Some(TraceState::Waiting | TraceState::Terminated), _, Some(_)) => {
            alone("startedAt", "state: running")
        }
        (None, Some(_), Some(_)) => alone("startedAt", "state: running"),
        _ => Ok(changes),
    }
}

fn moment(fields: &Fields<'_, '_>, name: &str) -> Result<Option<At>, TraceError> {
    fields.read(name, A_MOMENT, |value| match value {
        Value::Number(zero) if zero.as_i64() == Some(0) => Some(At::Offset(GoDuration(0))),
        value => At::parse(value.as_str()?),
    })
}

/// Checks that steps follow each other, and that times have something to be compared with.
fn check_times(trace: &Trace) -> Result<(), TraceError> {
    let (root, list) = (Place::Root, Place::Field(&Place::Root, "steps"));
    let origin = trace.origin();
    let kubelet = Place::Field(&root, "kubelet");
    let known = |at: Option<At>, place: &dyn Fn() -> String| match (at, origin) {
        (Some(At::Time(_)), None) => Err(TraceError::NoOrigin { path: place() }),
        _ => Ok(()),
    };
    known(trace.kubelet.started_at, &|| Place::Field(&kubelet, "startedAt").to_string())?;
    let period = i64::from(trace.probe.timing.period_seconds).saturating_mul(1_000_000_000);
    let mut before: Option<GoDuration> = None;
    for (index, step) in trace.steps.iter().enumerate() {
        let place = |name: &str| Place::Field(&Place::Index(&list, index), name).to_string();
        known(step.at, &|| place("at"))?;
        known(step.changes.started_at, &|| place("startedAt"))?;
        let next = before.map_or(0, |before| before.0.saturating_add(period));
        let at = step.at.map_or(GoDuration(next), |at| at.offset(origin.unwrap_or_default()));
        if let Some(before) = before.filter(|before| at < *before) {
            return Err(TraceError::Order { path: place("at"), at, before });
        }
        before = Some(at);
    }
    Ok(())
}

/// Returns the gates about probes that are not at the default of their version.
pub(super) fn set_gates(rules: &KubeletRules) -> BTreeMap<String, bool> {
    let defaults = FeatureGates::for_version(rules.gates.version());
    let asked = [
        Gate::ContainerRestartRules,
        Gate::RestartAllContainersOnContainerExits,
        Gate::ChangeContainerStatusOnKubeletRestart,
    ];
    let set =
        asked.into_iter().filter(|gate| rules.gates.enabled(*gate) != defaults.enabled(*gate));
    set.map(|gate| (gate.name().to_owned(), rules.gates.enabled(gate))).collect()
}
