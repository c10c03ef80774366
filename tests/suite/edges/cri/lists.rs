//! What a runtime answers is understood and put in order.

use super::fake::{Answers, Server};
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{ContainerState, RuntimeFacts};
use kq_io::trust::NamedBy;
use kq_linux::cri::v1::{self, CgroupDriver as Driver};
use kq_linux::cri::{RuntimeNeeds, read_runtime};
use std::path::Path;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(60);

fn read(answers: Answers, wants: RuntimeNeeds) -> RuntimeFacts {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let server = Server::answering(&folder.path().join("cri.sock"), answers);
    read_runtime(&server.endpoint(), Path::new("/"), NamedBy::Operator, wants, TIME)
        .expect("the runtime answers")
}

fn image(id: impl Into<String>, tags: &[&str]) -> v1::Image {
    v1::Image {
        id: id.into(),
        repo_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..v1::Image::default()
    }
}

fn sandbox(id: &str, namespace: &str, name: &str, attempt: u32) -> v1::PodSandbox {
    let metadata = v1::PodSandboxMetadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        uid: format!("uid-{name}"),
        attempt,
    };
    v1::PodSandbox { id: id.to_owned(), metadata: Some(metadata), ..v1::PodSandbox::default() }
}

fn container(id: &str, sandbox: &str, pod_uid: &str, name: &str, state: i32) -> v1::Container {
    let label = ("io.kubernetes.pod.uid".to_owned(), pod_uid.to_owned());
    v1::Container {
        id: id.to_owned(),
        pod_sandbox_id: sandbox.to_owned(),
        metadata: Some(v1::ContainerMetadata { name: name.to_owned(), attempt: 0 }),
        labels: [label].into_iter().filter(|_| pod_uid != "-").collect(),
        state,
        ..v1::Container::default()
    }
}

#[test]
fn lists_have_an_order_of_their_own() {
    let answers = Answers {
        sandboxes: Some(v1::ListPodSandboxResponse {
            items: vec![
                sandbox("4", "b", "a", 0),
                sandbox("3", "a", "b", 1),
                sandbox("2", "a", "b", 0),
                sandbox("1", "a", "b", 0),
                v1::PodSandbox { state: 1, ..v1::PodSandbox::default() },
            ],
        }),
        containers: Some(v1::ListContainersResponse {
            containers: vec![
                container("d", "4", "uid-a", "two", 1),
                container("c", "4", "-", "one", 2),
                container("b", "none", "-", "lost", 7),
                container("a", "1", "uid-b", "one", 0),
            ],
        }),
        images: Some(v1::ListImagesResponse {
            images: vec![image("3", &["b", "a"]), image("2", &["a", "z"]), image("1", &[])],
        }),
        ..Answers::default()
    };
    let facts = read(answers, RuntimeNeeds::ALL);
    let sandboxes = facts.sandboxes.value().expect("sandboxes are listed");
    let ids: Vec<(&str, bool)> = sandboxes.iter().map(|s| (s.id.as_str(), s.ready)).collect();
    assert_eq!(ids, [("", false), ("1", true), ("2", true), ("3", true), ("4", true)]);
    let containers = facts.containers.value().expect("containers are listed");
    let seen: Vec<(&str, &str, ContainerState)> =
        containers.iter().map(|c| (c.pod_uid.as_str(), c.id.as_str(), c.state)).collect();
    assert_eq!(
        seen,
        [
            ("", "b", ContainerState::Unknown),
            ("uid-a", "c", ContainerState::Exited),
            ("uid-a", "d", ContainerState::Running),
            ("uid-b", "a", ContainerState::Created),
        ]
    );
    let images = facts.images.value().expect("images are listed");
    let ids: Vec<&str> = images.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[test]
fn more_than_the_kubelet_reads_is_read() {
    // 60,000 images as they are on a node, and few with much more text than 16 MiB.
    let digest = "0123456789abcdef".repeat(4);
    let many = (0..60_000).map(|number| {
        let name = format!("registry.example/team/service-{number:05}");
        v1::Image {
            repo_digests: vec![format!("{name}@sha256:{digest}")],
            size: number,
            ..image(format!("sha256:{digest}"), &[&format!("{name}:v1")])
        }
    });
    let long = "x".repeat(1 << 20);
    let large = (0..40).map(|number| image(number.to_string(), &[&long]));
    for (name, images) in [("many", many.collect::<Vec<_>>()), ("large", large.collect::<Vec<_>>())]
    {
        let count = images.len();
        let answers =
            Answers { images: Some(v1::ListImagesResponse { images }), ..Answers::default() };
        let facts = read(answers, RuntimeNeeds { images: true, ..RuntimeNeeds::default() });
        let images = facts.images.value().unwrap_or_else(|| panic!("{name}: {:?}", facts.images));
        assert_eq!(images.len(), count, "{name}");
        if name == "many" {
            assert!(images.iter().zip(0..).all(|(image, size)| image.size == size), "{name}");
        }
    }
}

#[test]
fn hostile_values_stay_what_they_are() {
    let nasty = "\u{1b}[2J\u{0}\r\n\u{202e}";
    let answers = Answers {
        sandboxes: Some(v1::ListPodSandboxResponse {
            items: vec![
                sandbox(nasty, nasty, nasty, u32::MAX),
                v1::PodSandbox { state: i32::MIN, created_at: i64::MIN, ..Default::default() },
            ],
        }),
        containers: Some(v1::ListContainersResponse {
            containers: vec![v1::Container::default(), container("", "", nasty, nasty, i32::MAX)],
        }),
        images: Some(v1::ListImagesResponse {
            images: vec![v1::Image { size: u64::MAX, ..image("", &["", nasty]) }],
        }),
        filesystems: Some(v1::ImageFsInfoResponse {
            image_filesystems: vec![v1::FilesystemUsage {
                used_bytes: Some(v1::UInt64Value { value: u64::MAX }),
                timestamp: -1,
                ..Default::default()
            }],
            container_filesystems: vec![],
        }),
        ..Answers::default()
    };
    let facts = read(answers, RuntimeNeeds::ALL);
    let sandboxes = facts.sandboxes.value().expect("sandboxes are listed");
    assert_eq!((sandboxes[1].id.as_str(), sandboxes[1].attempt), (nasty, u32::MAX));
    assert!(!sandboxes[0].ready);
    let containers = facts.containers.value().expect("containers are listed");
    assert_eq!(containers[1].pod_uid, nasty);
    assert_eq!(containers[0].image_id, None);
    assert_eq!(facts.images.value().expect("images are listed")[0].size, u64::MAX);
    let usage = &facts.image_filesystems.value().expect("file systems are told").image[0];
    assert_eq!((usage.used_bytes, usage.inodes_used), (Some(u64::MAX), None));
}

#[test]
fn the_cgroup_driver_has_two_sources() {
    let said = |driver| {
        let linux = Some(v1::LinuxRuntimeConfiguration { cgroup_driver: driver });
        Some(v1::RuntimeConfigResponse { linux })
    };
    let config = r#"{"containerd":{"defaultRuntimeName":"r","runtimes":{"r":
        {"options":{"SystemdCgroup":true}}}}}"#;
    let status = || {
        let info = [("config".to_owned(), config.to_owned())].into_iter().collect();
        Some(v1::StatusResponse { status: None, info })
    };
    let told = "Status(verbose) config.containerd.runtimes.r.options.SystemdCgroup";
    let rows = [
        (
            "systemd",
            said(Driver::Systemd as i32),
            None,
            Some((CgroupDriver::Systemd, "RuntimeConfig")),
            "",
        ),
        (
            "cgroupfs",
            said(Driver::Cgroupfs as i32),
            status(),
            Some((CgroupDriver::Cgroupfs, "RuntimeConfig")),
            "",
        ),
        (
            "Unimplemented",
            None,
            status(),
            Some((CgroupDriver::Systemd, told)),
            "RuntimeConfig: answered Unimplemented: not by this one",
        ),
        (
            "a driver of tomorrow",
            said(2),
            status(),
            Some((CgroupDriver::Systemd, told)),
            "RuntimeConfig: names cgroup driver 2, which is unknown",
        ),
        (
            "not Linux",
            Some(v1::RuntimeConfigResponse { linux: None }),
            Some(v1::StatusResponse::default()),
            None,
            "RuntimeConfig: has no configuration for Linux; \
             Status(verbose): does not report its configuration",
        ),
        (
            "neither",
            None,
            None,
            None,
            "RuntimeConfig: answered Unimplemented: not by this one; \
             Status(verbose): answered Unimplemented: not by this one",
        ),
    ];
    for (name, runtime_config, status, expected, reason) in rows {
        let answers = Answers { runtime_config, status, ..Answers::default() };
        let wants = RuntimeNeeds { cgroup_driver: true, ..RuntimeNeeds::default() };
        let facts = read(answers, wants);
        let endpoint = format!("{} ", facts.endpoint);
        let driver = &facts.cgroup_driver;
        let found = driver
            .found
            .as_ref()
            .map(|found| (found.value, found.source.strip_prefix(&endpoint).expect("its source")));
        assert_eq!(found, expected, "{name}");
        let is_asked = expected.is_some_and(|(_, source)| source == "RuntimeConfig");
        assert_eq!(facts.driver_for_kubelet().is_some(), is_asked, "{name}");
        let tried = if driver.tried.is_empty() { String::new() } else { driver.reason() };
        assert_eq!(tried.replace(&endpoint, ""), reason, "{name}");
    }
}

#[test]
fn what_is_not_wanted_is_not_asked() {
    let facts = read(Answers::default(), RuntimeNeeds::default());
    assert_eq!(facts.version.runtime_name, "made-up");
    assert_eq!(facts.version.runtime_version, "1.2.3");
    let expected = RuntimeFacts {
        endpoint: facts.endpoint.clone(),
        version: facts.version.clone(),
        ..RuntimeFacts::default()
    };
    assert_eq!(facts, expected);
    assert_eq!(facts.images, Lookup::default());
}
