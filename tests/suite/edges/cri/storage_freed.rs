//! What the removal of an image frees, as kq says before, and as a real containerd does.

use super::containerd::Containerd;
use kq_facts::runtime::{Image, ImageStorage, RuntimeFacts, StoragePiece};
use kq_image_gc::storage::freed;
use kq_io::trust::NamedBy;
use kq_linux::cri::storage::image_storage;
use kq_linux::cri::v1::image_service_client::ImageServiceClient;
use kq_linux::cri::v1::{ImageSpec, RemoveImageRequest};
use kq_linux::cri::{RuntimeNeeds, connect, read_runtime};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(30);

/// Makes two archives of images with a layer in common.
const ARCHIVES: &str = r#"
set -eu
cd "$1"
layer() {
    mkdir "$1.root"
    head -c "$2" /dev/urandom >"$1.root/$1"
    tar -cf "$1" -C "$1.root" .
}
layer base 300000
for name in one two; do
    layer "$name" $((${#name} * 50000))
    cat >config.json <<END
{"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/$name"]}, "rootfs": {"type": "layers",
 "diff_ids": ["sha256:$(sha256sum <base | cut -d ' ' -f 1)",
              "sha256:$(sha256sum <"$name" | cut -d ' ' -f 1)"]}}
END
    printf '[{"Config": "config.json", "RepoTags": ["localhost/kq-%s:1"], "Layers": ["base", "%s"]}]' \
        "$name" "$name" >manifest.json
    tar -cf "$name.tar" manifest.json config.json base "$name"
done
"#;

/// A containerd with both images.
struct Node {
    containerd: Containerd,
    archives: tempfile::TempDir,
}

impl Node {
    fn start() -> Option<Self> {
        let containerd = Containerd::start("", false)?;
        let archives = tempfile::tempdir().expect("a temporary folder can be made");
        run(Command::new("sh").args(["-c", ARCHIVES, "sh"]).arg(archives.path()));
        let node = Self { containerd, archives };
        node.import("k8s.io", "one");
        node.import("k8s.io", "two");
        // The half that speaks the CRI hears of images a little later, and names them by their ids.
        node.wait("both images are listed", || {
            let storage = node.storage();
            node.images().len() == 2 && held(&storage).all(|piece| !piece.held_otherwise)
        });
        Some(node)
    }

    fn ctr(&self, namespace: &str, arguments: &[&str]) {
        let endpoint = self.containerd.endpoint();
        let socket = endpoint.strip_prefix("unix://").expect("a socket");
        run(Command::new("ctr")
            .args(["--address", socket, "--namespace", namespace])
            .args(arguments));
    }

    fn import(&self, namespace: &str, name: &str) {
        let archive = self.archives.path().join(format!("{name}.tar"));
        let archive = archive.to_str().expect("text");
        self.ctr(namespace, &["images", "import", "--snapshotter", "native", archive]);
    }

    fn facts(&self) -> RuntimeFacts {
        let wants = RuntimeNeeds { images: true, ..RuntimeNeeds::default() };
        read_runtime(&self.containerd.endpoint(), Path::new("/"), NamedBy::Operator, wants, TIME)
            .expect("it answers")
    }

    fn images(&self) -> Vec<Image> {
        self.facts().images.value().expect("a list").to_vec()
    }

    /// Returns the id of an image.
    fn id(&self, name: &str) -> String {
        let tag = format!("localhost/kq-{name}:1");
        let image = self.images().into_iter().find(|image| image.repo_tags.contains(&tag));
        image.unwrap_or_else(|| panic!("no {tag}")).id
    }

    fn storage(&self) -> ImageStorage {
        let (facts, endpoint) = (self.facts(), self.containerd.endpoint());
        let sought = wait_for(async {
            let channel = connect(&endpoint, Path::new("/")).await.expect("it listens");
            let images = facts.images.value().expect("a list");
            image_storage(&channel, &endpoint, &facts.version, images).await
        });
        sought.value().unwrap_or_else(|| panic!("{}", sought.reason())).clone()
    }

    /// Removes an image as the kubelet does.
    fn remove(&self, id: &str) {
        let endpoint = self.containerd.endpoint();
        let image = Some(ImageSpec { image: id.to_owned(), ..ImageSpec::default() });
        wait_for(async {
            let channel = connect(&endpoint, Path::new("/")).await.expect("it listens");
            let mut client = ImageServiceClient::new(channel);
            let removed = client.remove_image(RemoveImageRequest { image });
            removed.await.expect("it is removed");
        });
    }

    /// Returns the sizes of the blobs on the disk, by digest.
    fn on_disk(&self) -> BTreeMap<String, u64> {
        let blobs = "root/io.containerd.content.v1.content/blobs/sha256";
        let folder = std::fs::read_dir(self.containerd.folder().join(blobs)).expect("a folder");
        let blob = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().expect("text");
            Some((format!("sha256:{name}"), entry.metadata().ok()?.len()))
        };
        folder.flatten().filter_map(blob).collect()
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < TIME, "not in time: {what}: {:?}", self.storage());
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
}

fn wait_for<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime can be made")
        .block_on(async { tokio::time::timeout(TIME, task).await.expect("it ends in time") })
}

/// Returns the pieces that stay for now: what nothing holds is about to go whatever is removed.
fn held(storage: &ImageStorage) -> impl Iterator<Item = &StoragePiece> {
    storage.pieces.iter().filter(|piece| !piece.images.is_empty() || piece.held_otherwise)
}

fn total(storage: &ImageStorage) -> u64 {
    held(storage).map(|piece| piece.bytes).sum()
}

fn ids<'a>(ids: &'a [&'a String]) -> impl Iterator<Item = &'a str> {
    ids.iter().map(|id| id.as_str())
}

#[test]
fn what_is_freed_is_what_was_said() {
    let Some(node) = Node::start() else { return };
    let (one, two) = (node.id("one"), node.id("two"));
    let storage = node.storage();
    let pieces: Vec<&StoragePiece> = held(&storage).collect();
    // Of each: a manifest, a configuration, a layer and what it unpacks to; and what they share.
    assert_eq!(pieces.len(), 4 + 4 + 2, "{pieces:?}");
    let shared = pieces.iter().filter(|piece| piece.images.len() == 2);
    let shared: u64 = shared.map(|piece| piece.bytes).sum();
    assert!((600_000..700_000).contains(&shared), "{shared}: the base, as fetched and unpacked");

    let alone = (freed(&storage, ids(&[&one])), freed(&storage, ids(&[&two])));
    let both = freed(&storage, ids(&[&one, &two]));
    assert_eq!(both, total(&storage));
    assert_eq!(both, alone.0 + alone.1 + shared);

    let blobs = || held(&storage).filter(|piece| !piece.name.contains('/'));
    let on_disk = node.on_disk();
    for blob in blobs() {
        assert_eq!(on_disk.get(&blob.name), Some(&blob.bytes), "{blob:?}");
    }
    node.remove(&one);
    node.wait("the first is gone", || total(&node.storage()) == both - alone.0);
    node.wait("from the disk too", || {
        let on_disk = node.on_disk();
        blobs().all(|blob| on_disk.contains_key(&blob.name) != (blob.images == [one.clone()]))
    });
    let storage = node.storage();
    assert_eq!(freed(&storage, ids(&[&two])), total(&storage), "now it is the last");
    node.remove(&two);
    node.wait("nothing is left", || node.on_disk().is_empty() && node.storage().pieces.is_empty());
}

#[test]
fn what_else_holds_an_image_keeps_it() {
    let Some(node) = Node::start() else { return };
    let one = node.id("one");
    let alone = freed(&node.storage(), ids(&[&one]));

    // Another namespace has the blobs too. They are stored once; snapshots are each namespace's own.
    node.import("other", "one");
    let storage = node.storage();
    let unpacked = held(&storage).filter(|piece| piece.name.starts_with("native/"));
    let unpacked: u64 =
        unpacked.filter(|piece| piece.images == [one.clone()]).map(|piece| piece.bytes).sum();
    assert_eq!(freed(&storage, ids(&[&one])), unpacked);
    assert!(unpacked > 0 && unpacked < alone, "{unpacked} of {alone}");
    node.remove(&one);
    node.wait("and what was unpacked is gone", || {
        let storage = node.storage();
        node.images().len() == 1 && !held(&storage).any(|piece| piece.images == [one.clone()])
    });
    let on_disk = node.on_disk();
    let blobs = held(&storage).filter(|piece| !piece.name.contains('/'));
    let blobs: Vec<_> = blobs.filter(|piece| piece.images.contains(&one)).collect();
    assert_eq!(blobs.len(), 4, "a manifest, a configuration and two layers: {blobs:?}");
    for blob in blobs {
        assert!(blob.held_otherwise && on_disk.contains_key(&blob.name), "{blob:?}");
    }
}

#[test]
fn a_name_that_the_cri_does_not_list_keeps_an_image() {
    let Some(node) = Node::start() else { return };
    let one = node.id("one");
    node.ctr("k8s.io", &["images", "tag", "localhost/kq-one:1", "import-2026"]);
    let storage = node.storage();
    assert_eq!(freed(&storage, ids(&[&one])), 0);
    node.remove(&one);
    node.wait("its names are gone", || {
        node.images().iter().all(|image| image.id != one || image.repo_tags.is_empty())
    });
    let on_disk = node.on_disk();
    let blobs = storage.pieces.iter().filter(|piece| !piece.name.contains('/'));
    for blob in blobs.filter(|piece| piece.images.contains(&one)) {
        assert!(on_disk.contains_key(&blob.name), "{blob:?}");
    }
}
