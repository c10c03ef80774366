//! The PodDisruptionBudgets of a cluster, found by the labels of pods.

use crate::fleet::disruptions::DisruptedPod;
use kq_k8s::disruption_budget::DisruptionBudget;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Budgets {
    all: Vec<DisruptionBudget>,
    by_namespace: BTreeMap<String, Namespace>,
}

/// The budgets of a namespace, by their places among all.
#[derive(Debug, Default)]
struct Namespace {
    all: Vec<usize>,
    /// Those that name a label, by its name and values.
    by_label: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    others: Vec<usize>,
}

impl Budgets {
    pub fn new(all: Vec<DisruptionBudget>) -> Self {
        let mut by_namespace: BTreeMap<String, Namespace> = BTreeMap::new();
        for (at, budget) in all.iter().enumerate() {
            let namespace = by_namespace.entry(budget.namespace.clone()).or_default();
            namespace.all.push(at);
            let Some((key, values)) = budget.label() else {
                namespace.others.push(at);
                continue;
            };
            let by_value = namespace.by_label.entry(key.to_owned()).or_default();
            values.iter().for_each(|value| by_value.entry(value.clone()).or_default().push(at));
        }
        Self { all, by_namespace }
    }

    pub fn all(&self) -> &[DisruptionBudget] {
        &self.all
    }

    /// Returns the budgets that count a pod; `None`: its labels decide, and are unknown.
    pub fn of(&self, pod: &DisruptedPod) -> Option<Vec<usize>> {
        let namespace = self.by_namespace.get(&pod.namespace).filter(|_| pod.is_healthy);
        let Some(Namespace { all, by_label, others }) = namespace else { return Some(Vec::new()) };
        let labels = pod.labels.as_ref();
        let selects = |at: &usize| match self.all[*at].selects(labels) {
            Some(selects) => selects.then_some(Some(*at)),
            None => Some(None),
        };
        match labels {
            None => all.iter().filter_map(selects).collect(),
            Some(labels) => {
                let of_label = |(key, by_value): (&String, &BTreeMap<String, Vec<usize>>)| {
                    by_value.get(labels.get(key)?).cloned()
                };
                let named = by_label.iter().filter_map(of_label).flatten();
                named.chain(others.iter().copied()).filter_map(|at| selects(&at)).collect()
            }
        }
    }
}
