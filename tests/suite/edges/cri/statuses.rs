//! Statuses of containers are queried where they are needed, and each may fail alone.

use super::fake::{Answers, Server};
use kq_facts::runtime::{ContainerStatus, RuntimeFacts, WritableLayer};
use kq_io::trust::NamedBy;
use kq_linux::cri::{RuntimeNeeds, StatusNeeds, read_runtime, v1};
use std::path::Path;
use std::time::Duration;
use tonic::Status;

const TIME: Duration = Duration::from_secs(60);

fn read(answers: Answers, wants: RuntimeNeeds, time: Duration) -> RuntimeFacts {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let server = Server::answering(&folder.path().join("cri.sock"), answers);
    read_runtime(&server.endpoint(), Path::new("/"), NamedBy::Operator, wants, time)
        .expect("the runtime answers")
}

fn wants(container_statuses: StatusNeeds) -> RuntimeNeeds {
    RuntimeNeeds { containers: true, container_statuses, ..RuntimeNeeds::default() }
}

fn container(id: &str, state: v1::ContainerState) -> v1::Container {
    v1::Container { id: id.to_owned(), state: state as i32, ..v1::Container::default() }
}

fn status(finished_at: i64, image_volumes: &[&str]) -> v1::ContainerStatusResponse {
    let volume = |image: &&str| v1::Mount {
        image: Some(v1::ImageSpec { image: (*image).to_owned(), ..v1::ImageSpec::default() }),
        ..v1::Mount::default()
    };
    let mut mounts = vec![v1::Mount { host_path: "/etc/hosts".to_owned(), ..v1::Mount::default() }];
    mounts.extend(image_volumes.iter().map(volume));
    let status = v1::ContainerStatus { finished_at, mounts, ..v1::ContainerStatus::default() };
    v1::ContainerStatusResponse { status: Some(status), ..v1::ContainerStatusResponse::default() }
}

/// Four containers: one runs, one ended, one is gone, one has a status without content.
fn some() -> Answers {
    let list = [
        container("runs", v1::ContainerState::ContainerRunning),
        container("ended", v1::ContainerState::ContainerExited),
        container("gone", v1::ContainerState::ContainerExited),
        container("empty", v1::ContainerState::ContainerUnknown),
    ];
    let statuses = [
        ("runs", status(0, &["sha256:b", "sha256:a", "sha256:b"])),
        ("ended", status(17, &[])),
        ("empty", v1::ContainerStatusResponse::default()),
    ];
    Answers {
        containers: Some(v1::ListContainersResponse { containers: list.to_vec() }),
        statuses: statuses.map(|(id, status)| (id.to_owned(), status)).into(),
        ..Answers::default()
    }
}

fn shown(status: &ContainerStatus) -> String {
    let ContainerStatus { id, finished_at, image_volumes, error } = status;
    let end = finished_at.map_or_else(String::new, |time| format!(" {time}"));
    let images = image_volumes.join(" ");
    format!("{id}{end} [{images}] {}", error.as_deref().unwrap_or_default()).trim_end().to_owned()
}

#[test]
fn those_that_are_wanted_are_asked_for() {
    let (runs, ended) = ("runs [sha256:b sha256:a sha256:b]", "ended 17 []");
    let gone = "gone [] answered NotFound: no container \"gone\"";
    let empty = "empty [] answered without a status";
    let all: &[&str] = &[empty, ended, gone, runs];
    let old = Some(("containerd", "1.6.20"));
    let rows: [(&str, StatusNeeds, _, Option<&[&str]>); 7] = [
        ("none", StatusNeeds::None, None, None),
        ("all", StatusNeeds::All, None, Some(all)),
        ("all of an old one", StatusNeeds::All, old, Some(all)),
        ("ended", StatusNeeds::Ended, old, Some(&[ended, gone])),
        ("volumes that may be", StatusNeeds::ImageVolumes, None, Some(all)),
        ("volumes", StatusNeeds::ImageVolumes, Some(("containerd", "2.1.0")), Some(all)),
        ("volumes that cannot be", StatusNeeds::ImageVolumes, old, None),
    ];
    for (name, wanted, version, expected) in rows {
        let answers = Answers { version, ..some() };
        let calls = answers.calls.clone();
        let facts = read(answers, wants(wanted), TIME);
        let found = facts.container_statuses.value();
        let found: Option<Vec<String>> = found.map(|list| list.iter().map(shown).collect());
        let expected: Option<Vec<String>> =
            expected.map(|list| list.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(found, expected, "{name}");
        let calls = calls.lock().expect("the server has ended").len();
        assert_eq!(calls, expected.map_or(0, |list| list.len()), "{name}");
    }
}

#[test]
fn without_a_list_there_are_no_statuses() {
    let facts = read(Answers::default(), wants(StatusNeeds::All), TIME);
    let reason = facts.container_statuses.reason();
    assert!(reason.ends_with(" ContainerStatus: the containers are not known"), "{reason}");
    let unwanted = RuntimeNeeds { containers: false, ..wants(StatusNeeds::All) };
    assert!(read(some(), unwanted, TIME).container_statuses.was_not_queried());
}

#[test]
fn one_that_hangs_keeps_no_other_from_answering() {
    let mut answers = some();
    answers.refusals.insert("ContainerStatus runs".to_owned(), Status::cancelled("hangs"));
    answers.refusals.insert("ContainerStatus ended".to_owned(), Status::internal("a\nb"));
    let facts = read(answers, wants(StatusNeeds::All), Duration::from_millis(1500));
    let statuses = facts.container_statuses.value().expect("they were asked for");
    let shown: Vec<String> = statuses.iter().map(shown).collect();
    assert_eq!(shown[1], "ended [] answered Internal: a\nb");
    assert_eq!(shown[3], "runs [] no answer within 1.5s");
}

#[test]
fn thousands_are_read_in_the_order_of_their_containers() {
    let ids: Vec<String> = (0..4_000).map(|number| format!("{number:05}")).collect();
    let list = ids.iter().map(|id| container(id, v1::ContainerState::ContainerExited)).collect();
    let statuses = ids.iter().zip(1..).map(|(id, time)| (id.clone(), status(time, &[])));
    let answers = Answers {
        containers: Some(v1::ListContainersResponse { containers: list }),
        statuses: statuses.collect(),
        ..Answers::default()
    };
    let facts = read(answers, wants(StatusNeeds::Ended), TIME);
    let found = facts.container_statuses.value().expect("they were asked for");
    assert_eq!(found.len(), ids.len());
    for ((status, id), time) in found.iter().zip(&ids).zip(1..) {
        assert_eq!((&status.id, status.finished_at, &status.error), (id, Some(time), &None));
    }
}

#[test]
fn what_is_listed_twice_is_asked_for_twice() {
    let mut answers = some();
    let list = &mut answers.containers.as_mut().expect("there are some").containers;
    list.push(container("ended", v1::ContainerState::ContainerRunning));
    list.push(v1::Container::default());
    let facts = read(answers, wants(StatusNeeds::All), TIME);
    let ids: Vec<&str> = facts.containers.value().expect("a list").iter().map(|c| &*c.id).collect();
    assert_eq!(ids, ["", "empty", "ended", "ended", "gone", "runs"]);
    let statuses = facts.container_statuses.value().expect("statuses");
    assert_eq!(statuses.iter().map(|status| &*status.id).collect::<Vec<_>>(), ids);
    assert_eq!(statuses[2], statuses[3]);
}

#[test]
fn writable_layers_are_what_the_runtime_counted() {
    let stats = |id: &str, layer: Option<v1::FilesystemUsage>| v1::ContainerStats {
        attributes: Some(v1::ContainerAttributes { id: id.to_owned() }),
        writable_layer: layer,
    };
    let counted = v1::FilesystemUsage {
        used_bytes: Some(v1::UInt64Value { value: u64::MAX }),
        inodes_used: Some(v1::UInt64Value { value: 0 }),
        ..v1::FilesystemUsage::default()
    };
    let list = vec![stats("b", None), stats("a", Some(counted)), v1::ContainerStats::default()];
    let answers = Answers {
        stats: Some(v1::ListContainerStatsResponse { stats: list }),
        ..Answers::default()
    };
    let wants = RuntimeNeeds { writable_layers: true, ..RuntimeNeeds::default() };
    let facts = read(answers, wants, TIME);
    let layer = |id: &str, used_bytes, inodes_used| WritableLayer {
        id: id.to_owned(),
        used_bytes,
        inodes_used,
    };
    let expected =
        [layer("", None, None), layer("a", Some(u64::MAX), Some(0)), layer("b", None, None)];
    assert_eq!(facts.writable_layers.value().map(Vec::as_slice), Some(&expected[..]));
    let silent = read(Answers::default(), wants, TIME).writable_layers.reason();
    assert!(
        silent.ends_with(" ListContainerStats: answered Unimplemented: not by this one"),
        "{silent}"
    );
}
