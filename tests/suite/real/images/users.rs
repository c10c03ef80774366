//! Containers made of images: what keeps an image in use.
//!
//! None of the images has a program. Each container gets the machine's own busybox as a mount.

use super::node::ImageNode;
use crate::real::pods::host_network;
use kq_linux::cri::v1;
use std::path::PathBuf;

/// Where the program is in each container.
const PROGRAM: &str = "/busybox";

/// What has become of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserState {
    /// It was never started.
    Created,
    /// It runs until the node ends.
    Running,
    /// It has ended.
    Exited,
}

/// A pod with one container.
#[derive(Clone, Debug)]
pub struct User {
    /// The runtime's id of the sandbox.
    pub sandbox: String,
    /// The runtime's id of the container.
    pub container: String,
}

impl ImageNode {
    /// Makes a pod of one container of an image; the image is named as a kubelet would name it to the
    /// runtime: by its id, or by any other reference.
    #[track_caller]
    pub fn run(&self, pod: &str, image: &str, state: UserState) -> User {
        let (sandbox, config) = self.run_sandbox(pod);
        let seconds = if state == UserState::Exited { "0" } else { "86400" };
        let request = v1::CreateContainerRequest {
            pod_sandbox_id: sandbox.clone(),
            config: Some(container_config(pod, image, seconds)),
            sandbox_config: Some(config),
        };
        let answer = self.runtime.call(self.runtime.client().create_container(request));
        let container = answer.expect("a container can be made").container_id;
        let user = User { sandbox, container };
        if state != UserState::Created {
            let request = v1::StartContainerRequest { container_id: user.container.clone() };
            let answer = self.runtime.call(self.runtime.client().start_container(request));
            answer.expect("the container can be started");
        }
        let expected = match state {
            UserState::Created => v1::ContainerState::ContainerCreated,
            UserState::Running => v1::ContainerState::ContainerRunning,
            UserState::Exited => v1::ContainerState::ContainerExited,
        };
        self.wait_until("the container is as it shall be", |node| {
            node.container_status(&user.container).state == expected as i32
        });
        user
    }

    /// Makes the sandbox of a pod; returns its id and what it was made of.
    #[track_caller]
    pub fn run_sandbox(&self, pod: &str) -> (String, v1::PodSandboxConfig) {
        let config = v1::PodSandboxConfig {
            metadata: Some(v1::PodSandboxMetadata {
                name: pod.to_owned(),
                uid: format!("uid-of-{pod}"),
                namespace: "gc".to_owned(),
                attempt: 0,
            }),
            labels: [("name", pod), ("namespace", "gc"), ("uid", &format!("uid-of-{pod}"))]
                .map(|(label, value)| (format!("io.kubernetes.pod.{label}"), value.to_owned()))
                .into(),
            linux: Some(v1::LinuxPodSandboxConfig {
                cgroup_parent: format!("{}/{pod}", self.cgroup),
                security_context: Some(v1::LinuxSandboxSecurityContext {
                    namespace_options: Some(host_network()),
                    ..v1::LinuxSandboxSecurityContext::default()
                }),
                ..v1::LinuxPodSandboxConfig::default()
            }),
            ..v1::PodSandboxConfig::default()
        };
        let request = v1::RunPodSandboxRequest {
            config: Some(config.clone()),
            runtime_handler: String::new(),
        };
        let answer = self.runtime.call(self.runtime.client().run_pod_sandbox(request));
        (answer.expect("a sandbox can be made").pod_sandbox_id, config)
    }

    /// Returns what the runtime says of a container.
    #[track_caller]
    pub fn container_status(&self, id: &str) -> v1::ContainerStatus {
        let request = v1::ContainerStatusRequest { container_id: id.to_owned(), verbose: false };
        let answer = self.runtime.call(self.runtime.client().container_status(request));
        answer.expect("the runtime answers").status.expect("the runtime knows the container")
    }

    /// Returns a container as the runtime lists it.
    #[track_caller]
    pub fn listed(&self, id: &str) -> v1::Container {
        let request = v1::ListContainersRequest {};
        let answer = self.runtime.call(self.runtime.client().list_containers(request));
        let containers = answer.expect("the runtime answers").containers;
        containers.into_iter().find(|it| it.id == id).expect("the container is listed")
    }

    /// Ends a container, where it runs, and removes it; its sandbox stays.
    #[track_caller]
    pub fn remove_container(&self, user: &User) {
        let id = user.container.clone();
        let request = v1::StopContainerRequest { container_id: id.clone(), timeout: 0 };
        let answer = self.runtime.call(self.runtime.client().stop_container(request));
        answer.expect("the container can be stopped");
        let request = v1::RemoveContainerRequest { container_id: id };
        let answer = self.runtime.call(self.runtime.client().remove_container(request));
        answer.expect("the container can be removed");
    }

    /// Ends a pod and removes it with its container.
    #[track_caller]
    pub fn remove_pod(&self, user: &User) {
        let id = user.sandbox.clone();
        let request = v1::StopPodSandboxRequest { pod_sandbox_id: id.clone() };
        let answer = self.runtime.call(self.runtime.client().stop_pod_sandbox(request));
        answer.expect("the sandbox can be stopped");
        let request = v1::RemovePodSandboxRequest { pod_sandbox_id: id };
        let answer = self.runtime.call(self.runtime.client().remove_pod_sandbox(request));
        answer.expect("the sandbox can be removed");
    }
}

/// Returns a container that sleeps for a time.
pub fn container_config(name: &str, image: &str, seconds: &str) -> v1::ContainerConfig {
    v1::ContainerConfig {
        metadata: Some(v1::ContainerMetadata { name: name.to_owned(), attempt: 0 }),
        image: Some(v1::ImageSpec { image: image.to_owned(), ..v1::ImageSpec::default() }),
        command: [PROGRAM, "sleep", seconds].map(str::to_owned).to_vec(),
        mounts: vec![v1::Mount {
            container_path: PROGRAM.to_owned(),
            host_path: busybox(),
            readonly: true,
            ..v1::Mount::default()
        }],
        labels: [("io.kubernetes.container.name".to_owned(), name.to_owned())].into(),
        linux: Some(v1::LinuxContainerConfig {
            resources: None,
            security_context: Some(v1::LinuxContainerSecurityContext {
                namespace_options: Some(host_network()),
                ..v1::LinuxContainerSecurityContext::default()
            }),
        }),
        ..v1::ContainerConfig::default()
    }
}

/// Returns where the machine has its busybox, which needs no libraries.
fn busybox() -> String {
    let places = ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from);
    let found = places.into_iter().find(|path| path.exists());
    found.expect("busybox is installed").to_string_lossy().into_owned()
}
