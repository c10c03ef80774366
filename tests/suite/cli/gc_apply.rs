//! `kq gc apply` on made-up runtimes that lie, hang, die, and change between one look and the next.
//!
//! Whatever they do, nothing is removed that is in use or pinned at that moment, each run ends in time with
//! a report, and the exit code says how it went.

use super::interactive::telling;
use super::{Ran, Run, folder_with, kq};
use crate::edges::cri::fake::{Answers, Server};
use crate::edges::cri::world::{Changing, World};
use kq_linux::cri::v1;
use std::time::{Duration, Instant};
use tonic::Status;

/// What everything is removed with, and what makes runs short.
pub const PRESSURE: &str =
    "gc apply --allow-unsure --trigger eviction --at-usage 100% --image-fs-capacity 100Gi";

/// Less than this for each call.
const TIMEOUT: &str = "400ms";

/// A made-up node with a made-up runtime.
pub struct Node {
    pub folder: tempfile::TempDir,
    pub world: Changing,
    pub server: Option<Server>,
    answers: Answers,
}

impl Node {
    /// Starts a runtime with a world.
    pub fn new(world: Changing, version: (&'static str, &'static str)) -> Self {
        let folder = folder_with(&[
            (
                "kubelet.json",
                r#"{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}"#,
            ),
            ("pods.json", r#"{"kind": "List", "apiVersion": "v1", "items": []}"#),
            ("root/etc/hostname", "made-up\n"),
            ("root/images/x", ""),
        ]);
        let filesystems = v1::ImageFsInfoResponse {
            image_filesystems: vec![v1::FilesystemUsage {
                fs_id: Some(v1::FilesystemIdentifier { mountpoint: "/images".to_owned() }),
                ..Default::default()
            }],
            container_filesystems: Vec::new(),
        };
        let answers = Answers {
            world: Some(world.clone()),
            version: Some(version),
            sandboxes: Some(v1::ListPodSandboxResponse::default()),
            filesystems: Some(filesystems),
            ..Answers::default()
        };
        let mut node = Self { folder, world, server: None, answers };
        node.revive();
        node
    }

    /// Starts the runtime again after it went away.
    pub fn revive(&mut self) {
        self.server = None;
        let socket = self.folder.path().join("root/runtime.sock");
        let _ = std::fs::remove_file(&socket);
        self.server = Some(Server::answering(&socket, self.answers.clone()));
    }

    /// Returns the arguments of `kq LINE`.
    pub fn arguments(&self, line: &str) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut option = |name: &str, value: &str| {
            arguments.extend([name.to_owned(), value.to_owned()]);
        };
        option("--host-root", &path("root"));
        option("--runtime-endpoint", "unix:///runtime.sock");
        option("--kubelet-config", &path("kubelet.json"));
        option("--kubelet-version", "1.36");
        option("--kubelet-start", "1h");
        option("--pods", &path("pods.json"));
        option("--timeout", TIMEOUT);
        arguments
    }

    /// Prepares `kq LINE`.
    pub fn kq(&self, line: &str) -> Run {
        let run = kq("").within(self.folder.path());
        self.arguments(line).into_iter().fold(run, |run, argument| run.arg(argument))
    }
}

pub fn image(id: &str) -> v1::Image {
    v1::Image {
        id: id.to_owned(),
        repo_tags: vec![format!("node.test/{id}:1")],
        size: 1 << 30,
        ..v1::Image::default()
    }
}

pub fn container(id: &str, image: &str) -> v1::Container {
    v1::Container {
        id: id.to_owned(),
        metadata: Some(v1::ContainerMetadata { name: id.to_owned(), attempt: 0 }),
        image_ref: image.to_owned(),
        state: v1::ContainerState::ContainerRunning as i32,
        created_at: 1_780_000_001_000_000_000,
        ..v1::Container::default()
    }
}

/// Five images that nothing uses.
pub fn five() -> World {
    World { images: ["a", "b", "c", "d", "e"].map(image).into(), ..World::default() }
}

/// A call that is never answered.
fn never() -> Option<Status> {
    Some(Status::cancelled("never"))
}

const PLAIN: (&str, &str) = ("containerd", "1.7.24");
/// One that has image volumes, so that each container is asked for its status.
const VOLUMES: (&str, &str) = ("containerd", "2.1.9");

type Happens = fn(&mut World, &str) -> Option<Status>;

/// A name, the version of the runtime, what happens, the exit code, what is said, and what is removed.
type Row = (&'static str, (&'static str, &'static str), Happens, i32, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("nothing happens", PLAIN, |_, _| None, 0, "5 removed", "abcde"),
    (
        "it hangs after the first",
        PLAIN,
        |world, call| (world.removed.len() == 1 && call.starts_with("ImageStatus")).then(never)?,
        5,
        "stopped: the users of images are unknown, twice in a row",
        "a",
    ),
    (
        "its list hangs after the second",
        PLAIN,
        |world, call| (world.removed.len() == 2 && call == "ListContainers").then(never)?,
        5,
        "2 removed, 2 kept, 0 failed, 1 left",
        "ab",
    ),
    (
        "one removal hangs",
        PLAIN,
        |_, call| (call == "RemoveImage b").then(never)?,
        5,
        "1 failed",
        "acde",
    ),
    (
        "some removals fail",
        PLAIN,
        |_, call| {
            let fails = matches!(call, "RemoveImage b" | "RemoveImage d");
            fails.then(|| Status::internal("device busy"))
        },
        5,
        "failed node.test/d:1 d: answered Internal: device busy",
        "ace",
    ),
    (
        "one comes into use",
        PLAIN,
        |world, call| {
            if call == "RemoveImage a" {
                world.containers.push(container("late", "e"));
            }
            None
        },
        0,
        "5/5 kept node.test/e:1 e: container late uses it (running)",
        "abcd",
    ),
    (
        "one comes into use between the question for the image and the list of containers",
        PLAIN,
        |world, call| {
            if call == "ImageStatus c" {
                world.containers.push(container("late", "c"));
            }
            None
        },
        0,
        "3/5 kept node.test/c:1 c: container late uses it",
        "abde",
    ),
    (
        "one is pinned",
        PLAIN,
        |world, call| {
            if call == "RemoveImage a" {
                world.images.iter_mut().filter(|it| it.id == "d").for_each(|it| it.pinned = true);
            }
            None
        },
        0,
        "it is pinned now",
        "abce",
    ),
    (
        "one goes by itself",
        PLAIN,
        |world, call| {
            if call == "RemoveImage a" {
                world.images.retain(|image| image.id != "c");
            }
            None
        },
        0,
        "3/5 gone",
        "abde",
    ),
    (
        "it answers for another image",
        PLAIN,
        |world, _| {
            world.other_id = Some("z".to_owned());
            None
        },
        0,
        "the runtime answers with another image, \"z\"",
        "",
    ),
    (
        "a container without image, name and state",
        PLAIN,
        |world, call| {
            if call == "RemoveImage a" {
                let metadata = None;
                let state = 77;
                world.containers = vec![v1::Container { metadata, state, ..container("", "") }];
            }
            None
        },
        0,
        "uses it (state unknown)",
        "a",
    ),
    (
        "a container that goes between the list and its status",
        VOLUMES,
        |world, call| {
            match call {
                "RemoveImage a" => world.containers.push(container("brief", "z")),
                "ContainerStatus brief" => world.containers.clear(),
                _ => {}
            }
            None
        },
        0,
        "5 removed",
        "abcde",
    ),
    (
        "a container that never has a status",
        VOLUMES,
        |world, call| {
            if call == "RemoveImage a" {
                world.containers = vec![container("odd", "z")];
            }
            None
        },
        5,
        "the status of a container could not be read: answered NotFound: no container \"odd\"",
        "a",
    ),
    (
        "an image is mounted",
        VOLUMES,
        |world, call| {
            if call == "RemoveImage a" {
                let image =
                    v1::ImageSpec { image: "node.test/c:1".to_owned(), ..Default::default() };
                let mount = v1::Mount { image: Some(image), ..Default::default() };
                let mounts = vec![mount];
                world.containers = vec![container("mounting", "z")];
                let id = "mounting".to_owned();
                world.statuses = vec![v1::ContainerStatus { id, mounts, ..Default::default() }];
            }
            None
        },
        0,
        "container mounting has it as a volume",
        "abde",
    ),
];

#[test]
fn whatever_a_runtime_does_nothing_goes_wrong() {
    for (name, version, happens, code, expected, removed) in ROWS {
        let node = Node::new(Changing::new(five(), happens), *version);
        let began = Instant::now();
        let ran = node.kq(&format!("{PRESSURE} --yes")).run();
        ended(name, &node, &ran, began);
        assert_eq!(ran.code, *code, "{name}: {}", ran.text());
        assert!(ran.text().contains(expected), "{name}: {expected:?}: {}", ran.text());
        assert_eq!(node.world.now().removed.concat(), *removed, "{name}: {}", ran.text());
    }
}

/// Fails where a run took too long, or something went that should not have.
#[track_caller]
fn ended(name: &str, node: &Node, ran: &Ran, began: Instant) {
    let took = began.elapsed();
    assert!(took < Duration::from_secs(8), "{name} took {took:?}: {}", ran.text());
    let wrong = node.world.now().wrong.clone();
    assert_eq!(wrong, Vec::<String>::new(), "{name}: {}", ran.text());
}

#[test]
fn a_runtime_that_dies_half_way_is_told_and_the_next_run_finishes() {
    let (folder, path) = (tempfile::tempdir().expect("a folder"), "socket");
    let place = folder.path().join(path);
    let told = place.clone();
    let turn = move |world: &mut World, _: &str| {
        // Each call has a connection of its own, so without a socket nobody comes through.
        if world.removed.len() == 1
            && let Ok(socket) = std::fs::read_to_string(&told)
        {
            let _ = std::fs::remove_file(socket);
        }
        None
    };
    let mut node = Node::new(Changing::new(five(), turn), PLAIN);
    let socket = node.folder.path().join("root/runtime.sock");
    std::fs::write(&place, socket.display().to_string()).expect("a file");
    let began = Instant::now();
    let ran = node.kq(&format!("{PRESSURE} --yes")).run();
    ended("dies", &node, &ran, began);
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(
        ran.stderr.contains("stopped: the users of images are unknown, twice in a row"),
        "{}",
        ran.text()
    );
    let removed = node.world.now().removed.clone();
    assert!((1..3).contains(&removed.len()), "{removed:?}");
    let gone = node.kq(&format!("{PRESSURE} --yes")).run();
    assert_eq!(gone.code, 3, "{}", gone.text());
    std::fs::remove_file(place).expect("it is there");
    std::mem::forget(node.server.take());
    node.revive();
    let ran = node.kq(&format!("{PRESSURE} --yes")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(node.world.now().removed, ["a", "b", "c", "d", "e"]);
}

#[test]
fn nonsense_in_lists_harms_nobody() {
    let sized = |id: &str, size: u64| v1::Image { size, ..image(id) };
    let pinned = |id: &str| v1::Image { pinned: true, ..image(id) };
    for (name, images, containers, removed) in [
        ("no id", vec![image(""), image("b")], vec![], "b"),
        ("an id twice, pinned once", vec![pinned("a"), image("a"), image("b")], vec![], "b"),
        ("the other way round", vec![image("a"), pinned("a"), image("b")], vec![], "b"),
        ("an id twice", vec![image("a"), image("a")], vec![], "a"),
        // The kubelet takes them for -1 and the least number, and their sum for the largest.
        ("sizes", vec![sized("a", u64::MAX), sized("b", 1 << 63), sized("c", 0)], vec![], "ab"),
        ("a container twice", vec![image("a")], vec![container("x", "a"), container("x", "a")], ""),
        ("a user by name", vec![image("a")], vec![container("x", "node.test/a:1")], ""),
    ] {
        for line in [PRESSURE, "gc apply --allow-unsure --at-usage 100% --image-fs-capacity 100Gi"]
        {
            let (images, containers) = (images.clone(), containers.clone());
            let world = World { images, containers, ..World::default() };
            let node = Node::new(Changing::new(world, |_, _| None), PLAIN);
            let ran = node.kq(&format!("{line} --yes")).run();
            ended(name, &node, &ran, Instant::now());
            assert!([0, 1].contains(&ran.code), "{name}: {line}: {}", ran.text());
            let mut gone = node.world.now().removed.clone();
            gone.sort();
            assert_eq!(gone.concat(), removed, "{name}: {line}: {}", ran.text());
        }
    }
}

#[test]
fn killed_at_any_line_nothing_is_harmed_and_the_next_run_finishes() {
    for told in 0..=5 {
        let node = Node::new(Changing::new(five(), |_, _| None), PLAIN);
        let mut run = telling(&node.arguments(&format!("{PRESSURE} --yes")));
        match told {
            0 => {}
            told => drop(run.until(&format!("{told}/5 removed"))),
        }
        run.kill();
        let removed = node.world.now().removed.clone();
        assert!(removed.len() >= told && removed.len() <= told + 3, "{told}: {removed:?}");
        let ran = node.kq(&format!("{PRESSURE} --yes")).run();
        assert_eq!(ran.code, 0, "{told}: {}", ran.text());
        ended("killed", &node, &ran, Instant::now());
        assert_eq!(node.world.now().removed, ["a", "b", "c", "d", "e"], "{told}");
    }
}

#[test]
fn what_is_not_known_or_cannot_go_is_no_success() {
    let used = |id: &str| container(&format!("of-{id}"), id);
    let world = World { containers: ["a", "b", "c", "d", "e"].map(used).into(), ..five() };
    let node = Node::new(Changing::new(world, |_, _| None), PLAIN);
    let full = "gc apply --allow-unsure --yes --at-usage 99% --image-fs-capacity 100Gi";
    for (line, code) in [
        (full.to_owned(), 1),
        (full.replace("99%", "50%"), 0),
        (full.replace("--yes", "--dry-run"), 1),
        (full.replace("--yes", ""), 1),
        (format!("{full} --max 0"), 1),
    ] {
        let ran = node.kq(&line).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
    }
    let node = Node::new(Changing::new(five(), |_, _| None), PLAIN);
    let ran = node.kq(&full.replace("--yes", "")).run();
    assert_eq!(ran.code, 4, "nobody can be asked: {}", ran.text());
    std::fs::remove_dir_all(node.folder.path().join("root/images")).expect("a folder");
    let ran = node.kq("gc apply --allow-unsure --yes").run();
    assert_eq!(ran.code, 4, "how full it is is not known: {}", ran.text());
    assert_eq!(node.world.now().removed, Vec::<String>::new());
}

#[test]
fn pods_that_nobody_was_asked_about_are_not_gone() {
    let ended = v1::Container {
        state: v1::ContainerState::ContainerExited as i32,
        labels: [("io.kubernetes.pod.uid".to_owned(), "of-the-api-server".to_owned())].into(),
        ..container("x", "a")
    };
    let node =
        Node::new(Changing::new(World { containers: vec![ended], ..five() }, |_, _| None), PLAIN);
    let config = r#"{"kind": "KubeletConfiguration", "staticPodPath": "/manifests",
        "apiVersion": "kubelet.config.k8s.io/v1beta1"}"#;
    std::fs::write(node.folder.path().join("kubelet.json"), config).expect("a file");
    let manifests = node.folder.path().join("root/manifests");
    std::fs::create_dir(&manifests).expect("a folder");
    std::fs::write(manifests.join("proxy.yaml"), super::made_up_node::MANIFEST).expect("a file");
    let list = |flags: &str| {
        let mut arguments = node.arguments("gc dry-run --trigger eviction -o name");
        let pods = arguments.iter().position(|it| it == "--pods").expect("there is one");
        if !flags.is_empty() {
            arguments.drain(pods..pods + 2);
            arguments.extend(flags.split(' ').map(str::to_owned));
        }
        let run = kq("").within(node.folder.path());
        let ran = arguments.into_iter().fold(run, |run, argument| run.arg(argument)).run();
        // How full the disks are is unknown.
        assert_eq!(ran.code, 3, "{}", ran.text());
        (ran.stdout.replace('\n', ""), ran.stderr)
    };
    assert_eq!(list("").0, "abcde", "a list of all pods has none that uses it");
    let (ids, said) = list("--pods-from static");
    assert_eq!(ids, "bcde", "after a reboot nothing runs yet: {said}");
    assert!(said.contains("not all pods are known"), "{said}");
}

#[test]
fn two_at_a_time_remove_each_image_once_and_both_succeed() {
    let node = Node::new(Changing::new(five(), |_, _| None), PLAIN);
    let line = "gc apply --allow-unsure --yes --at-usage 99% --image-fs-capacity 20Gi";
    let mut first = telling(&node.arguments(line));
    first.until("1/4 removed");
    let other = node.kq(line).run();
    assert!([0, 1].contains(&other.code), "{}", other.text());
    let (code, said) = first.end();
    assert_eq!(code, 0, "{said}");
    let mut removed = node.world.now().removed.clone();
    let count = removed.len();
    removed.dedup();
    assert_eq!(removed.len(), count, "none twice: {removed:?}");
}
