//! The calls before a container starts (`callPreStartContainerIfNeeded`).

use super::allocate::AllocateError;
use super::lifecycle::ManagerState;
use super::plugins::Plugins;
use kq_facts::checkpoint::device::DeviceSet;

/// A resource whose plugin was called, and why the container does not start.
pub type PreStarted = (String, Result<(), AllocateError>);

impl ManagerState {
    /// Calls the plugins that want it before a container with their devices starts. The first that fails
    /// keeps it from starting, and the others are not called.
    pub fn pre_start(
        &mut self,
        pod_uid: &str,
        container: &str,
        plugins: &mut dyn Plugins,
    ) -> Vec<PreStarted> {
        let devices: Vec<(String, DeviceSet)> = self
            .pod_devices
            .of_container(pod_uid, container)
            .map(|(key, device)| (key.resource_name.clone(), device.ids()))
            .filter(|(_, devices)| !devices.is_empty())
            .collect();
        let mut called = Vec::new();
        for (resource, devices) in devices {
            let done = match self.endpoints.get(&resource) {
                None => Err(AllocateError::NoEndpoint(resource.clone())),
                Some(endpoint) if !endpoint.options.pre_start_required => continue,
                Some(endpoint) => match endpoint.stopped_at {
                    Some(_) => Err(AllocateError::Stopped.to_string()),
                    None => plugins.pre_start(self, &resource, &devices),
                }
                .map_err(AllocateError::PreStart),
            };
            let failed = done.is_err();
            called.push((resource, done));
            if failed {
                break;
            }
        }
        called
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocate::AllocationContext;
    use super::super::{Affinities, Allocated, Device, Endpoint, HEALTHY, PluginOptions};
    use super::*;
    use crate::objects;
    use kq_k8s::pod::Pod;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    /// Notes what it is asked; its devices fall ill while it allocates.
    #[derive(Default)]
    struct Noted(Vec<String>);

    impl Plugins for Noted {
        fn preferred_allocation(
            &mut self,
            _: &mut ManagerState,
            resource: &str,
            _: &DeviceSet,
            _: &DeviceSet,
            size: usize,
        ) -> Result<Option<Vec<String>>, String> {
            self.0.push(format!("prefer {size} {resource}"));
            Ok(None)
        }

        fn allocate(
            &mut self,
            state: &mut ManagerState,
            resource: &str,
            devices: &DeviceSet,
        ) -> Result<Allocated, String> {
            self.0.push(format!("allocate {} {resource}", devices.len()));
            if resource == "x/ill" {
                state.update(resource, []);
            }
            if resource == "x/no" {
                Err("no".to_owned())
            } else {
                Ok(Allocated::Answer(Vec::new()))
            }
        }

        fn pre_start(
            &mut self,
            _: &mut ManagerState,
            resource: &str,
            _: &DeviceSet,
        ) -> Result<(), String> {
            self.0.push(format!("start {resource}"));
            if resource == "x/b" { Err("busy".to_owned()) } else { Ok(()) }
        }

        fn write_checkpoint(&mut self, state: &ManagerState) -> Result<(), String> {
            self.0.push(format!("write {}", state.pod_devices.entries.len()));
            Ok(())
        }
    }

    fn admit(containers: &[&[(&str, &str)]]) -> (ManagerState, Noted, Option<String>) {
        let mut state = ManagerState::default();
        let device =
            |id: &str| Device { id: id.to_owned(), health: HEALTHY.to_owned(), numa_nodes: None };
        for resource in ["x/a", "x/b", "x/c", "x/ill", "x/no"] {
            let options = PluginOptions {
                pre_start_required: true,
                get_preferred_allocation_available: true,
            };
            state.endpoints.insert(resource.to_owned(), Endpoint { options, stopped_at: None });
            state.update(resource, ["0", "1", "2"].map(device));
        }
        let container = |(number, limits): (usize, &&[(&str, &str)])| {
            let limits: Value = limits.iter().copied().collect();
            json!({"name": number.to_string(), "resources": {"limits": limits}})
        };
        let containers = containers.iter().enumerate().map(container).collect();
        let pod: Pod = objects::pod("u").containers(containers).read();
        let circumstances = AllocationContext {
            sources_ready: true,
            active_pods: ["u".to_owned()].into(),
            ..AllocationContext::default()
        };
        let given = BTreeMap::new();
        let mut plugins = Noted::default();
        let admitted = state.admit(&pod, &Affinities::Given(&given), &circumstances, &mut plugins);
        let message = admitted.expect("no hints are needed").message;
        (state, plugins, message)
    }

    #[test]
    fn the_checkpoint_is_written_after_each_container_that_got_devices() {
        let (_, plugins, refused) = admit(&[&[("x/a", "3")], &[], &[("x/b", "3"), ("x/c", "3")]]);
        assert_eq!(refused, None);
        let expected = [
            "prefer 3 x/a",
            "allocate 3 x/a",
            "write 1",
            "prefer 3 x/b",
            "allocate 3 x/b",
            "prefer 3 x/c",
            "allocate 3 x/c",
            "write 3",
        ];
        assert_eq!(plugins.0, expected);
        let (state, plugins, refused) = admit(&[&[("x/a", "3"), ("x/no", "1")]]);
        assert_eq!(refused.as_deref(), Some("Allocate failed due to no, which is unexpected"));
        assert!(!plugins.0.iter().any(|call| call.starts_with("write")), "{:?}", plugins.0);
        assert_eq!(state.pod_devices.entries.len(), 1, "and it stays in memory");
    }

    #[test]
    fn what_comes_in_while_a_plugin_allocates_counts() {
        let (state, _, refused) = admit(&[&[("x/ill", "1")]]);
        assert_eq!(refused, None, "as in the kubelet, which does not look again");
        assert!(state.healthy["x/ill"].is_empty());
        assert_eq!(state.pod_devices.entries.len(), 1);
    }

    #[test]
    fn the_first_that_fails_keeps_the_container_from_starting() {
        let (mut state, mut plugins, _) = admit(&[&[("x/a", "1"), ("x/b", "1"), ("x/c", "1")]]);
        plugins.0.clear();
        let called = state.pre_start("u", "0", &mut plugins);
        assert_eq!(plugins.0, ["start x/a", "start x/b"]);
        let errors: Vec<Option<String>> =
            called.into_iter().map(|(_, done)| done.err().map(|it| it.to_string())).collect();
        let busy = "device plugin PreStartContainer rpc failed with err: busy".to_owned();
        assert_eq!(errors, [None, Some(busy)]);
    }
}
