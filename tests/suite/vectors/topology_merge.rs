//! `topology_merge`: the hints of providers, and pods with stand-ins for providers.

use super::cpu_input::{hint, numa, shown_hint};
use super::input;
use kq_k8s::pod::{Container, Pod};
use kq_managers::topology_manager::{
    AllocationError, HintProvider, NotComputed, ProviderHints, Stop, TopologyHint, TopologyManager,
    decide,
};
use serde_json::{Value, json};
use std::cell::RefCell;

/// Answers as the case says.
struct StandIn<'c> {
    case: &'c Value,
    number: usize,
    calls: &'c RefCell<Vec<String>>,
}

/// Reads the hints of one provider.
pub fn hints(resources: &Value) -> ProviderHints {
    let list = |value: &Value| -> Option<Vec<TopologyHint>> {
        Some(value.as_array()?.iter().map(hint).collect())
    };
    let entry =
        |it: &Value| (it["resource"].as_str().expect("a name").to_owned(), list(&it["hints"]));
    resources.as_array().into_iter().flatten().map(entry).collect()
}

impl HintProvider for StandIn<'_> {
    fn name(&self) -> &'static str {
        "stand-in"
    }

    fn container_hints(
        &mut self,
        _: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed> {
        Ok(hints(&self.case["container_hints"][&container.name]))
    }

    fn pod_hints(&mut self, _: &Pod) -> Result<ProviderHints, NotComputed> {
        Ok(hints(&self.case["pod_hints"]))
    }

    fn allocate(&mut self, _: &Pod, container: &Container, _: TopologyHint) -> Result<(), Stop> {
        self.calls.borrow_mut().push(format!("{}:{}", self.number, container.name));
        let error = &self.case["allocate_errors"][&container.name];
        match error["text"].as_str() {
            None => Ok(()),
            Some(text) => {
                let reason = error["type"].as_str().map(str::to_owned);
                Err(AllocationError::Other { reason, text: text.to_owned() }.into())
            }
        }
    }

    fn allocate_pod(&mut self, _: &Pod, _: TopologyHint) -> Result<(), Stop> {
        Ok(())
    }
}

pub fn answer(case: &Value) -> Value {
    let text = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    let manager = TopologyManager::new(
        &text(&case["policy"], ""),
        &text(&case["scope"], "container"),
        &input::read(&case["policy_options"]),
        input::rules(case).gates,
        numa(&case["numa_nodes"]),
    );
    match manager {
        Err(error) => json!({ "new_manager_error": error.to_string() }),
        Ok(manager) if case["scope"].is_null() => merged(case, &manager),
        Ok(manager) => admitted(case, manager),
    }
}

fn merged(case: &Value, manager: &TopologyManager) -> Value {
    let providers = case["providers"].as_array().into_iter().flatten();
    let providers: Vec<ProviderHints> = providers.map(hints).collect();
    let closest = manager.options().prefer_closest_numa_nodes;
    match decide(manager.policy(), manager.numa(), &providers, closest) {
        Ok((best, admit)) => json!({ "best_hint": shown_hint(best), "admit": admit }),
        Err(reason) => json!({ "not_computed": reason.to_string() }),
    }
}

fn admitted(case: &Value, mut manager: TopologyManager) -> Value {
    let containers = |names: &Value| -> Vec<Container> {
        let names: Vec<String> = input::read(names);
        let container = |name| Container { name, ..Container::default() };
        names.into_iter().map(container).collect()
    };
    let mut pod = Pod::default();
    pod.spec.init_containers = containers(&case["init_containers"]);
    pod.spec.containers = containers(&case["containers"]);
    let calls = RefCell::new(Vec::new());
    let cases = case["scope_providers"].as_array().into_iter().flatten().enumerate();
    let mut stand_ins: Vec<StandIn<'_>> =
        cases.map(|(number, case)| StandIn { case, number, calls: &calls }).collect();
    let mut providers: Vec<&mut dyn HintProvider> =
        stand_ins.iter_mut().map(|it| it as &mut dyn HintProvider).collect();
    let admission = match manager.admit(&pod, &mut providers) {
        Ok(admission) => admission,
        Err(reason) => return json!({ "not_computed": reason.to_string() }),
    };
    let affinity = admission
        .containers
        .iter()
        .map(|it| json!({ "name": it.name, "affinity": shown_hint(it.affinity) }));
    let mut out = json!({
        "scope_name": manager.scope_name(),
        "allocate_calls": *calls.borrow(),
        "affinity": affinity.collect::<Vec<_>>(),
    });
    super::cpu_admit::show_refusal(&admission, &mut out);
    out
}
