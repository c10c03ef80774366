//! How long reading a runtime with 10,000 images and 30,000 containers takes, beside merely receiving
//! and decoding the same lists.
//!
//! The runtime is this program once more, so that the memory of one is not that of the other. With
//! `KQ_PEAK` set nothing is timed; the peak of the memory of one reading is printed.

#![expect(clippy::disallowed_methods, reason = "the server must differ from its client")]
#![expect(clippy::disallowed_macros, reason = "it prints what was measured")]

#[expect(dead_code, reason = "it answers more calls than this benchmark sends")]
#[path = "../tests/suite/edges/cri/fake.rs"]
mod fake;
#[allow(dead_code, reason = "one of them is used here")]
#[path = "../tests/suite/services/mod.rs"]
mod services;
#[expect(dead_code, reason = "nothing changes here")]
#[path = "../tests/suite/edges/cri/world.rs"]
mod world;

use criterion::{Criterion, criterion_group, criterion_main};
use fake::{Answers, Server};
use kq_io::trust::NamedBy;
use kq_linux::cri::v1::image_service_client::ImageServiceClient;
use kq_linux::cri::v1::runtime_service_client::RuntimeServiceClient;
use kq_linux::cri::{MAX_MESSAGE_BYTES, RuntimeNeeds, StatusNeeds, connect, read_runtime, v1};
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const IMAGES: usize = 10_000;
const CONTAINERS: usize = 30_000;
const TIME: Duration = Duration::from_secs(60);

/// Tells the program that it is the runtime, and where.
const SERVE: &str = "KQ_BENCH_SERVE";

const LISTS: RuntimeNeeds = RuntimeNeeds {
    cgroup_driver: false,
    low_level: false,
    sandboxes: true,
    containers: true,
    images: true,
    image_filesystems: false,
    container_statuses: StatusNeeds::None,
    writable_layers: false,
    image_storage: false,
    sandbox_image: false,
};

fn hash(number: usize) -> String {
    format!("{number:064x}")
}

/// What a node has, with labels and annotations as the kubelet sets them.
fn answers() -> Answers {
    let image = |number: usize| v1::Image {
        id: format!("sha256:{}", hash(number)),
        repo_tags: vec![format!("registry.example/team/service-{number}:v1.2.3")],
        repo_digests: vec![format!(
            "registry.example/team/service-{number}@sha256:{}",
            hash(number)
        )],
        size: 123_456_789,
        ..v1::Image::default()
    };
    let map = |pairs: &[(&str, String)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    };
    let uid = |pod: usize| format!("00000000-0000-0000-0000-{pod:012}");
    let sandbox = |pod: usize| v1::PodSandbox {
        id: hash(pod),
        metadata: Some(v1::PodSandboxMetadata {
            name: format!("service-{pod}"),
            namespace: "default".to_owned(),
            uid: uid(pod),
            attempt: 0,
        }),
        ..v1::PodSandbox::default()
    };
    let container = |number: usize| v1::Container {
        id: hash(number + CONTAINERS),
        pod_sandbox_id: hash(number / 3),
        metadata: Some(v1::ContainerMetadata { name: format!("c-{}", number % 3), attempt: 1 }),
        image: Some(v1::ImageSpec {
            image: format!("sha256:{}", hash(number % IMAGES)),
            ..v1::ImageSpec::default()
        }),
        image_ref: format!("sha256:{}", hash(number % IMAGES)),
        labels: map(&[
            ("io.kubernetes.container.name", format!("c-{}", number % 3)),
            ("io.kubernetes.pod.name", format!("service-{}", number / 3)),
            ("io.kubernetes.pod.namespace", "default".to_owned()),
            ("io.kubernetes.pod.uid", uid(number / 3)),
        ]),
        state: v1::ContainerState::ContainerExited as i32,
        ..v1::Container::default()
    };
    let containers: Vec<v1::Container> = (0..CONTAINERS).map(container).collect();
    let status = v1::ContainerStatusResponse {
        status: Some(v1::ContainerStatus { finished_at: 1, ..v1::ContainerStatus::default() }),
        ..v1::ContainerStatusResponse::default()
    };
    Answers {
        images: Some(v1::ListImagesResponse { images: (0..IMAGES).map(image).collect() }),
        sandboxes: Some(v1::ListPodSandboxResponse {
            items: (0..CONTAINERS / 3).map(sandbox).collect(),
        }),
        statuses: containers.iter().map(|one| (one.id.clone(), status.clone())).collect(),
        containers: Some(v1::ListContainersResponse { containers }),
        // One without image volumes, so that nobody asks for statuses to find some.
        version: Some(("containerd", "1.7.24")),
        ..Answers::default()
    }
}

/// A runtime in a process of its own.
struct Runtime {
    process: Child,
    folder: tempfile::TempDir,
}

impl Runtime {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .env(SERVE, folder.path().join("s"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be run");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says that it listens");
        Self { process, folder }
    }

    fn endpoint(&self) -> String {
        format!("unix://{}", self.folder.path().join("s").display())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Answers until it is killed, or the program that started it has gone.
fn serve(path: &Path) {
    let _server = Server::answering(path, answers());
    println!("listens");
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

/// Receives and decodes the three lists at the same time, and nothing else.
fn receive(endpoint: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let channel = connect(endpoint, Path::new("/")).await.expect("it listens");
        let runtime = || {
            RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
        };
        let (mut one, mut two) = (runtime(), runtime());
        let mut images =
            ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let sandboxes = tokio::spawn(async move {
            one.list_pod_sandbox(v1::ListPodSandboxRequest {}).await.expect("a list")
        });
        let containers = tokio::spawn(async move {
            two.list_containers(v1::ListContainersRequest {}).await.expect("a list")
        });
        let images = images.list_images(v1::ListImagesRequest {}).await.expect("a list");
        sandboxes.await.expect("it ends").into_inner().items.len()
            + containers.await.expect("it ends").into_inner().containers.len()
            + images.into_inner().images.len()
    })
}

/// The most memory that this process ever had, as the kernel says it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}

fn gc_facts(criterion: &mut Criterion) {
    if let Some(path) = std::env::var_os(SERVE) {
        serve(Path::new(&path));
        return;
    }
    let runtime = Runtime::start();
    let endpoint = runtime.endpoint();
    let read = |wants| {
        read_runtime(&endpoint, Path::new("/"), NamedBy::Operator, wants, TIME).expect("it answers")
    };
    if let Some(what) = std::env::var_os("KQ_PEAK") {
        match what.to_str() {
            Some("receive") => assert_eq!(receive(&endpoint), 50_000),
            _ => drop(black_box(read(LISTS))),
        }
        println!("{}", peak());
        return;
    }
    let mut group = criterion.benchmark_group("gc facts");
    group.sample_size(10);
    group.bench_function("receive the lists", |bencher| bencher.iter(|| receive(&endpoint)));
    group.bench_function("read the lists", |bencher| {
        bencher.iter_with_large_drop(|| read(LISTS));
    });
    group.bench_function("read the lists and 30000 statuses", |bencher| {
        let wants = RuntimeNeeds { container_statuses: StatusNeeds::All, ..LISTS };
        bencher.iter_with_large_drop(|| read(wants));
    });
    group.finish();
}

criterion_group!(benches, gc_facts);
criterion_main!(benches);
