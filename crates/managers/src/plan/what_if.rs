//! The options of a question about devices, and the state of the device manager with them.

use crate::manager::ManagerState;
use crate::reconstruct::{ReconstructedManager, some};
use kq_facts::timestamp::Timestamp;
use kq_k8s::nearest::nearest;
use std::collections::BTreeMap;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// Ids that are taken to be unhealthy, perhaps behind the name of their resource and `=`.
    pub unhealthy: Vec<String>,
    /// The kubelet starts again.
    pub kubelet_restart: bool,
    /// No pod is named: it is about those of the node that it concerns.
    pub of_node: bool,
    /// The moment.
    pub now: Timestamp,
}

/// Why a question cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// No device has the id.
    #[error("--unhealthy {text}: no device has this id; {known}")]
    UnknownDevice {
        /// What was said.
        text: String,
        /// The device that was meant, or some of the devices.
        known: String,
    },
    /// Devices of several resources have the id.
    #[error("--unhealthy {text}: devices of {resources} have this id: use RESOURCE={text}")]
    Ambiguous {
        /// What was said.
        text: String,
        resources: String,
    },
}

/// Returns the device manager that a question is about.
/// Fails for a device that is not there.
pub fn state_of(
    assembled: ReconstructedManager,
    question: &WhatIf,
) -> Result<ManagerState, QuestionError> {
    let ReconstructedManager { mut state, registered, restored, .. } = assembled;
    for text in &question.unhealthy {
        set_unhealthy(&mut state, text)?;
    }
    if question.kubelet_restart {
        let registered = registered.iter().map(String::as_str);
        return Ok(ManagerState::restore(restored, registered, question.now));
    }
    Ok(state)
}

/// Among how many devices the one is looked for that a misspelt name means.
const MOST_DEVICES: usize = 10_000;

/// Returns resource and id of the devices that are named: one, or the replicas of one that is shared, which its plugin lists
/// as `ID::0`, `ID::1` and so on.
pub(super) fn devices_named(
    state: &ManagerState,
    text: &str,
) -> Result<Vec<(String, String)>, QuestionError> {
    device_named(state, text).map(|one| vec![one]).or_else(|unknown| {
        let (only, id) = match text.split_once('=') {
            Some((resource, id)) if state.devices.contains_key(resource) => (Some(resource), id),
            _ => (None, text),
        };
        let replica = format!("{id}::");
        let resources = state.devices.iter();
        let resources = resources.filter(|(name, _)| only.is_none_or(|only| only == *name));
        let replicas: Vec<(String, String)> = resources
            .flat_map(|(name, devices)| devices.keys().map(move |id| (name, id)))
            .filter(|(_, id)| id.starts_with(&replica))
            .map(|(name, id)| (name.clone(), id.clone()))
            .collect();
        if replicas.is_empty() { Err(unknown) } else { Ok(replicas) }
    })
}

/// Returns resource and id of a device that is named.
fn device_named(state: &ManagerState, text: &str) -> Result<(String, String), QuestionError> {
    let owner = |resource: &str, id: &str| {
        state.devices.get(resource).is_some_and(|devices| devices.contains_key(id))
    };
    let named = text.split_once('=').filter(|(resource, id)| owner(resource, id));
    Ok(match named {
        Some((resource, id)) => (resource.to_owned(), id.to_owned()),
        None => {
            let owners = state.devices.keys().filter(|resource| owner(resource, text));
            let owners: Vec<&String> = owners.collect();
            match &owners[..] {
                [one] => ((*one).clone(), text.to_owned()),
                [] => {
                    let ids: Vec<&String> =
                        state.devices.values().flat_map(BTreeMap::keys).collect();
                    // A resource may be misspelt as well as an id of it.
                    let full = state.devices.iter().flat_map(|(resource, devices)| {
                        devices.keys().map(move |id| format!("{resource}={id}"))
                    });
                    let full: Vec<String> = full.take(MOST_DEVICES).collect();
                    let names = match text.contains('=') {
                        true => full.iter().map(String::as_str).collect::<Vec<_>>(),
                        false => ids.iter().take(MOST_DEVICES).map(|id| id.as_str()).collect(),
                    };
                    let known = match nearest(text, names) {
                        Some(near) => format!("did you mean {near}?"),
                        None if ids.is_empty() => "there is none".to_owned(),
                        None => format!("there is {}", some(&ids)),
                    };
                    return Err(QuestionError::UnknownDevice { text: text.to_owned(), known });
                }
                several => {
                    let (text, resources) = (text.to_owned(), some(several));
                    return Err(QuestionError::Ambiguous { text, resources });
                }
            }
        }
    })
}

fn set_unhealthy(state: &mut ManagerState, text: &str) -> Result<(), QuestionError> {
    for (resource, id) in devices_named(state, text)? {
        let devices = state.devices.get_mut(&resource);
        if let Some(device) = devices.and_then(|devices| devices.get_mut(&id)) {
            "Unhealthy".clone_into(&mut device.health);
        }
        if let Some(healthy) = state.healthy.get_mut(&resource) {
            healthy.remove(&id);
        }
        state.unhealthy.entry(resource).or_default().insert(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::Device;
    use crate::plan::{ResourceBefore, before};

    fn state() -> ManagerState {
        let device =
            |id: &str| Device { id: id.to_owned(), health: "Healthy".to_owned(), numa_nodes: None };
        let mut state = ManagerState::default();
        state.update("example.com/a", [device("0"), device("x=1")]);
        state.update("example.com/b", [device("0"), device("2")]);
        state
    }

    #[test]
    fn devices_are_named_alone_or_with_their_resource() {
        type Found<'a> = Result<(&'a str, &'a str), &'a str>;
        let rows: &[(&str, Found<'_>)] = &[
            ("2", Ok(("example.com/b", "2"))),
            ("example.com/a=0", Ok(("example.com/a", "0"))),
            ("x=1", Ok(("example.com/a", "x=1"))),
            ("example.com/a=x=1", Ok(("example.com/a", "x=1"))),
            ("0", Err("example.com/a, example.com/b")),
            ("3", Err("no device has this id")),
            ("example.com/b=3", Err("no device has this id")),
        ];
        for (text, expected) in rows {
            let mut state = state();
            match (set_unhealthy(&mut state, text), expected) {
                (Ok(()), Ok((resource, id))) => {
                    assert!(!state.healthy[*resource].contains(*id), "{text}");
                    assert!(state.unhealthy[*resource].contains(*id), "{text}");
                    assert_ne!(state.devices[*resource][*id].health, "Healthy", "{text}");
                }
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{text}: {error}");
                }
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_device_that_is_shared_is_all_its_replicas() {
        let device =
            |id: &str| Device { id: id.to_owned(), health: "Healthy".to_owned(), numa_nodes: None };
        for (text, left) in [("gpu-1", 1), ("example.com/a=gpu-1", 1), ("gpu-1::0", 2)] {
            let mut state = ManagerState::default();
            state.update("example.com/a", ["gpu-1::0", "gpu-1::1", "gpu-10::0"].map(device));
            set_unhealthy(&mut state, text).expect("it is listed");
            assert_eq!(state.healthy["example.com/a"].len(), left, "{text}");
        }
        let mut state = state();
        assert!(set_unhealthy(&mut state, "example.com/b=gpu-1").is_err());
    }

    #[test]
    fn a_kubelet_that_starts_has_no_healthy_device() {
        let assembled = ReconstructedManager {
            state: state(),
            registered: ["example.com/a".to_owned()].into(),
            ..ReconstructedManager::default()
        };
        let question = WhatIf { kubelet_restart: true, ..WhatIf::default() };
        let state = state_of(assembled, &question).expect("nothing is named");
        assert_eq!(
            before(&state),
            [("example.com/a".to_owned(), ResourceBefore::default())].into()
        );
    }
}
