//! PodDisruptionBudgets: the pods that each selects, and how many of these may be unavailable.
//!
//! Mirrors `trySync`, `getExpectedPodCount` and `updatePdbStatus` of `pkg/controller/disruption/disruption.go`.

use crate::label_selector::Requirement;
use crate::pod::{IntOrString, null_as_default, object, objects, optional_object};
use crate::yaml;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The version that is read: in `policy/v1beta1` an empty selector selects no pod.
const VERSION: &str = "policy/v1";

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub namespace: String,
    pub name: String,
    /// `None`: it selects no pod.
    selector: Option<Vec<Requirement>>,
    /// What the budget permits now, or why that is unknown.
    pub room: Result<BudgetRoom, BudgetUnknown>,
}

/// What a budget permits, as the disruption controller counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRoom {
    /// The pods that there should be.
    pub expected: u32,
    /// The pods that are ready.
    pub healthy: u32,
    /// The pods that must be ready.
    pub desired: u32,
    /// The pods that may become unavailable now.
    pub allowed: u32,
}

/// Why it is unknown what a budget permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetUnknown {
    /// The status is of another generation, or there is none.
    #[error("its status is not of its present spec")]
    NotObserved,
    /// The controller reports `SyncFailed`: it allows no eviction, and has not counted.
    #[error("the disruption controller could not count its pods")]
    SyncFailed,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Budget {
    #[serde(deserialize_with = "null_as_default")]
    api_version: String,
    #[serde(deserialize_with = "null_as_default")]
    kind: String,
    #[serde(deserialize_with = "object")]
    metadata: Metadata,
    #[serde(deserialize_with = "object")]
    spec: Spec,
    #[serde(deserialize_with = "object")]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    #[serde(deserialize_with = "null_as_default")]
    namespace: String,
    #[serde(deserialize_with = "null_as_default")]
    name: String,
    #[serde(deserialize_with = "null_as_default")]
    generation: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(deserialize_with = "optional_object")]
    selector: Option<Selector>,
    min_available: Option<IntOrString>,
    max_unavailable: Option<IntOrString>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Selector {
    #[serde(deserialize_with = "null_as_default")]
    match_labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "objects")]
    match_expressions: Vec<Expression>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Expression {
    #[serde(deserialize_with = "null_as_default")]
    key: String,
    #[serde(deserialize_with = "null_as_default")]
    operator: String,
    #[serde(deserialize_with = "null_as_default")]
    values: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[serde(deserialize_with = "null_as_default")]
    observed_generation: i64,
    #[serde(deserialize_with = "null_as_default")]
    disruptions_allowed: u32,
    #[serde(deserialize_with = "null_as_default")]
    current_healthy: u32,
    #[serde(deserialize_with = "null_as_default")]
    desired_healthy: u32,
    #[serde(deserialize_with = "null_as_default")]
    expected_pods: u32,
    #[serde(deserialize_with = "objects")]
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(deserialize_with = "null_as_default")]
    reason: ConditionReason,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum ConditionReason {
    SyncFailed,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    #[serde(deserialize_with = "null_as_default")]
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    #[serde(deserialize_with = "objects")]
    items: Vec<Budget>,
}

impl DisruptionBudget {
    /// Reads budgets: a list of `kubectl get pdb -o json` or `-o yaml`, a page of the API server, or single ones.
    /// Fails for anything else, with the reason.
    pub fn read(bytes: &[u8]) -> Result<Vec<Self>, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "not text in UTF-8".to_owned())?;
        if text.trim_start().starts_with('{') {
            return of_json(text);
        }
        let mut budgets = None;
        for document in yaml::documents(text).iter().filter(|document| !document.is_empty()) {
            let value = yaml::read(document.text).map_err(|error| error.to_string())?.value;
            if !value.is_object() {
                return Err(format!("expected a {KIND} or a list of them"));
            }
            budgets.get_or_insert_with(Vec::new).extend(of_json(&value.to_string())?);
        }
        budgets.ok_or_else(|| "it is empty".to_owned())
    }

    /// Returns true if the budget selects a pod of its namespace with these labels; `None`: unknown without them.
    pub fn selects(&self, labels: Option<&BTreeMap<String, String>>) -> Option<bool> {
        match (self.selector.as_deref(), labels) {
            (None, _) => Some(false),
            (Some([]), _) => Some(true),
            (Some(requirements), Some(labels)) => {
                Some(requirements.iter().all(|requirement| requirement.matches(labels)))
            }
            (Some(_), None) => None,
        }
    }

    /// Returns a label that each selected pod has, and the values that it has there; `None`: the selector names none.
    pub fn label(&self) -> Option<(&str, &[String])> {
        self.selector.iter().flatten().find_map(|requirement| match requirement {
            Requirement::In(key, values) => Some((key.as_str(), values.as_slice())),
            _ => None,
        })
    }

    /// `kind` is that of the budget itself: those of a list may have none.
    fn of(budget: Budget, kind: &str) -> Result<Self, String> {
        let Budget { api_version, metadata, spec, status, .. } = budget;
        if kind != KIND {
            return Err(format!("kind {kind:?}, expected {KIND}, or a list of them"));
        }
        let Metadata { namespace, name, generation } = metadata;
        let refused = |reason: String| format!("{KIND} {namespace}/{name}: {reason}");
        if !matches!(api_version.as_str(), "" | VERSION) {
            return Err(refused(format!("apiVersion {api_version:?}, expected {VERSION}")));
        }
        if name.is_empty() || namespace.is_empty() {
            return Err(refused("it has no name or no namespace".to_owned()));
        }
        let room = status.room(&spec, generation).map_err(refused)?;
        let selector = spec.selector.map(Selector::requirements).transpose().map_err(refused)?;
        Ok(Self { namespace, name, selector, room })
    }
}

const KIND: &str = "PodDisruptionBudget";
const LIST: &str = "PodDisruptionBudgetList";

fn of_json(text: &str) -> Result<Vec<DisruptionBudget>, String> {
    let refused = |error: serde_json::Error| error.to_string();
    let Head { kind } = serde_json::from_str(text).map_err(refused)?;
    match kind.as_str() {
        LIST | "List" => of_list(serde_json::from_str(text).map_err(refused)?),
        _ => {
            let budget = serde_json::from_str(text).map_err(refused)?;
            DisruptionBudget::of(budget, &kind).map(|it| vec![it])
        }
    }
}

fn of_list(list: List) -> Result<Vec<DisruptionBudget>, String> {
    let one = |budget: Budget| {
        let kind = match budget.kind.as_str() {
            "" => KIND.to_owned(),
            kind => kind.to_owned(),
        };
        DisruptionBudget::of(budget, &kind)
    };
    list.items.into_iter().map(one).collect()
}

impl Selector {
    /// Returns the requirements, all of which a pod meets that is selected (`LabelSelectorAsSelector`,
    /// `k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go`, read in 1.36.2).
    fn requirements(self) -> Result<Vec<Requirement>, String> {
        let equal = |(key, value)| Ok(Requirement::In(key, vec![value]));
        let expression = |Expression { key, operator, values }| match operator.as_str() {
            "In" => Ok(Requirement::In(key, values)),
            "NotIn" => Ok(Requirement::NotIn(key, values)),
            "Exists" => Ok(Requirement::Exists(key)),
            "DoesNotExist" => Ok(Requirement::Absent(key)),
            _ => Err(format!("{operator:?} is not an operator of a selector")),
        };
        let expressions = self.match_expressions.into_iter().map(expression);
        self.match_labels.into_iter().map(equal).chain(expressions).collect()
    }
}

impl Status {
    /// Returns what the status says of a spec. A status that the spec contradicts is of another one.
    fn room(
        &self,
        spec: &Spec,
        generation: i64,
    ) -> Result<Result<BudgetRoom, BudgetUnknown>, String> {
        let desired = spec.desired_healthy(self.expected_pods)?;
        let is_observed = generation != 0 && self.observed_generation == generation;
        Ok(match () {
            () if !is_observed => Err(BudgetUnknown::NotObserved),
            () if self.conditions.iter().any(|it| it.reason == ConditionReason::SyncFailed) => {
                Err(BudgetUnknown::SyncFailed)
            }
            () if desired != self.desired_healthy => Err(BudgetUnknown::NotObserved),
            () => Ok(BudgetRoom {
                expected: self.expected_pods,
                healthy: self.current_healthy,
                desired,
                allowed: self.disruptions_allowed,
            }),
        })
    }
}

impl Spec {
    /// Returns how many of the expected pods must be ready. A part of them is rounded up
    /// (`GetScaledValueFromIntOrPercent`, `k8s.io/apimachinery/pkg/util/intstr/intstr.go`, read in 1.36.2).
    fn desired_healthy(&self, expected: u32) -> Result<u32, String> {
        let scaled = |amount: &IntOrString| match amount {
            IntOrString::Int(number) => u32::try_from(*number).ok(),
            IntOrString::String(text) => {
                let percent: u64 = text.strip_suffix('%')?.parse().ok()?;
                u32::try_from((u64::from(expected) * percent).div_ceil(100)).ok()
            }
        };
        let scaled = |amount: &IntOrString| {
            scaled(amount)
                .ok_or_else(|| format!("{amount}: not a number of pods, nor a part of them"))
        };
        match (&self.max_unavailable, &self.min_available) {
            (Some(most), _) => Ok(expected.saturating_sub(scaled(most)?)),
            (None, Some(least)) => scaled(least),
            (None, None) => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn budget(spec: Value, status: Value) -> Value {
        json!({
            "apiVersion": VERSION, "kind": KIND,
            "metadata": {"namespace": "shop", "name": "web", "generation": 2},
            "spec": spec, "status": status,
        })
    }

    fn status(expected: u32, healthy: u32, desired: u32) -> Value {
        json!({
            "observedGeneration": 2, "expectedPods": expected, "currentHealthy": healthy,
            "desiredHealthy": desired, "disruptionsAllowed": healthy.saturating_sub(desired),
        })
    }

    fn read(value: &Value) -> Result<Vec<DisruptionBudget>, String> {
        DisruptionBudget::read(value.to_string().as_bytes())
    }

    #[test]
    fn parts_of_pods_are_rounded_up() {
        for (spec, expected, desired) in [
            (json!({"minAvailable": 2}), 3, 2),
            (json!({"minAvailable": 5}), 3, 5),
            (json!({"minAvailable": "50%"}), 3, 2),
            (json!({"minAvailable": "100%"}), 7, 7),
            (json!({"minAvailable": "0%"}), 7, 0),
            (json!({"minAvailable": "34%"}), 100, 34),
            (json!({"maxUnavailable": 1}), 3, 2),
            (json!({"maxUnavailable": 0}), 3, 3),
            (json!({"maxUnavailable": 5}), 3, 0),
            (json!({"maxUnavailable": "25%"}), 7, 5),
            (json!({"maxUnavailable": "30%"}), 10, 7),
            (json!({"maxUnavailable": "1%"}), 1, 0),
            (json!({"maxUnavailable": "50%"}), u32::MAX, u32::MAX / 2),
            (json!({"maxUnavailable": "100%", "minAvailable": 1}), 3, 0),
            (json!({}), 3, 0),
        ] {
            let read: Spec = serde_json::from_value(spec.clone()).expect("a spec");
            assert_eq!(read.desired_healthy(expected), Ok(desired), "{spec} of {expected}");
        }
    }

    #[test]
    fn a_status_counts_where_it_is_of_the_spec() {
        let known = |allowed| Ok(BudgetRoom { expected: 5, healthy: 4, desired: 3, allowed });
        let with = |field: &str, value: Value| {
            let mut status = status(5, 4, 3);
            status[field] = value;
            status
        };
        let failed =
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]);
        for (name, status, expected) in [
            ("as counted", status(5, 4, 3), known(1)),
            ("an eviction is under way", with("disruptionsAllowed", json!(0)), known(0)),
            (
                "another generation",
                with("observedGeneration", json!(1)),
                Err(BudgetUnknown::NotObserved),
            ),
            ("new", json!({"disruptionsAllowed": 0}), Err(BudgetUnknown::NotObserved)),
            ("none", Value::Null, Err(BudgetUnknown::NotObserved)),
            ("of another spec", with("desiredHealthy", json!(4)), Err(BudgetUnknown::NotObserved)),
            ("not counted", with("conditions", failed), Err(BudgetUnknown::SyncFailed)),
        ] {
            let budgets = read(&budget(json!({"maxUnavailable": "40%"}), status)).expect(name);
            assert_eq!(budgets[0].room, expected, "{name}");
        }
        let mut applied = budget(json!({"minAvailable": 3}), status(5, 4, 3));
        applied["metadata"]["generation"] = Value::Null;
        assert_eq!(read(&applied).expect("one")[0].room, Err(BudgetUnknown::NotObserved));
    }

    #[test]
    fn selectors_are_those_of_the_api() {
        let labels: BTreeMap<String, String> = [("app", "web"), ("tier", "front")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, with, without) in [
            (Value::Null, Some(false), Some(false)),
            (json!({}), Some(true), Some(true)),
            (json!({"matchLabels": null, "matchExpressions": []}), Some(true), Some(true)),
            (json!({"matchLabels": {"app": "web"}}), Some(true), None),
            (json!({"matchLabels": {"app": "web", "tier": "back"}}), Some(false), None),
            (expression("tier", "In", json!(["back", "front"])), Some(true), None),
            (expression("tier", "NotIn", json!(["front"])), Some(false), None),
            (expression("other", "NotIn", json!(["front"])), Some(true), None),
            (expression("other", "Exists", Value::Null), Some(false), None),
            (expression("other", "DoesNotExist", Value::Null), Some(true), None),
        ] {
            let budgets = read(&budget(json!({"selector": selector}), Value::Null)).expect("one");
            assert_eq!(budgets[0].selects(Some(&labels)), with, "{selector}");
            assert_eq!(budgets[0].selects(None), without, "{selector}");
        }
    }

    #[test]
    fn lists_are_those_of_kubectl_and_of_the_server() {
        let one = budget(json!({"minAvailable": 1}), Value::Null);
        let mut bare = one.clone();
        for field in ["kind", "apiVersion"] {
            bare[field] = Value::Null;
        }
        let of_server = json!({"kind": LIST, "apiVersion": VERSION, "items": [bare]});
        let of_kubectl = json!({"kind": "List", "apiVersion": "v1", "items": [one, one]});
        let of = |bytes: &[u8]| DisruptionBudget::read(bytes).map(|all| all.len());
        assert_eq!(of(of_server.to_string().as_bytes()), Ok(1));
        assert_eq!(of(of_kubectl.to_string().as_bytes()), Ok(2));
        assert_eq!(of(json!({"kind": "List", "items": null}).to_string().as_bytes()), Ok(0));
        let yaml = "---\nkind: PodDisruptionBudget\napiVersion: policy/v1\nmetadata: {namespace: shop, name: web}\n\
                    spec:\n  maxUnavailable: 25%\n---\n\n---\nkind: List\nitems: []\n";
        assert_eq!(of(yaml.as_bytes()), Ok(1));
    }

    #[test]
    fn what_is_no_budget_is_named() {
        let with = |place: &str, value: Value| {
            let mut one = budget(json!({"minAvailable": 1}), Value::Null);
            *one.pointer_mut(place).expect("a place") = value;
            one
        };
        for (value, expected) in [
            (
                with("/kind", json!("Pod")),
                "kind \"Pod\", expected PodDisruptionBudget, or a list of them",
            ),
            (json!({"kind": "List", "items": [{"kind": "Pod"}]}), "kind \"Pod\", expected"),
            (
                with("/apiVersion", json!("policy/v1beta1")),
                "shop/web: apiVersion \"policy/v1beta1\"",
            ),
            (with("/metadata/name", json!("")), "it has no name"),
            (with("/spec/minAvailable", json!("half")), "half: not a number of pods"),
            (with("/spec/minAvailable", json!(-1)), "-1: not a number of pods"),
            (
                budget(
                    json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}),
                    Value::Null,
                ),
                "\"Gt\" is not an operator",
            ),
            (with("/status", json!({"expectedPods": -1})), "invalid value"),
        ] {
            let error = read(&value).expect_err("not a budget");
            assert!(error.contains(expected), "{value}: {error}");
        }
        for bytes in [&b"- a\n"[..], b"a"] {
            let error = DisruptionBudget::read(bytes).expect_err("no object");
            assert_eq!(error, "expected a PodDisruptionBudget or a list of them");
        }
        for bytes in [&b"{"[..], b"[{}]", b"", b"---\n", &[0xff]] {
            assert!(DisruptionBudget::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
