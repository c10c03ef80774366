//! A node with images.

use super::catalogue::{Catalogue, MOVED, Made, PINNED};
use crate::cli::repository;
use crate::real::node::script;
use crate::real::output_of;
use crate::real::runtime::Runtime;
use kq_linux::cri::v1;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The size of the file system of each node. The images take about half of it.
const DISK: &str = "128M";

/// Fast, and what a layer takes is what is in it.
const SNAPSHOTTER: &str = "overlayfs";

/// How long the runtime may take to notice what was done behind its back.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The label by which containerd 1.7 and later know a pinned image.
const PINNED_LABEL: &str = "io.cri-containerd.pinned=pinned";

/// A containerd with images that runs until this is dropped.
pub struct ImageNode {
    /// What it says of its version: `(1, 6)`.
    pub version: (u32, u32),
    /// Where it has its files.
    pub folder: PathBuf,
    /// The runtime's socket.
    pub socket: PathBuf,
    /// The connection to the runtime.
    pub runtime: Runtime,
    /// The images that were made for it.
    pub catalogue: &'static Catalogue,
    /// The cgroup of all pods.
    pub cgroup: String,
    /// Where its programs are; the system's have no folder of their own.
    pub(super) programs: Option<PathBuf>,
    pub(super) process: Pid,
    /// The process that came after one that was killed.
    pub(super) revived: Option<Child>,
    /// The node is stopped when this is closed, which happens however the tests end.
    lifeline: Option<ChildStdin>,
}

/// Returns the images, which are made once.
pub fn catalogue() -> Result<&'static Catalogue, String> {
    static CATALOGUE: OnceLock<Result<Catalogue, String>> = OnceLock::new();
    let made = CATALOGUE.get_or_init(|| {
        let folder = home();
        let made = std::fs::create_dir_all(&folder).and_then(|()| Catalogue::make(&folder));
        made.map_err(|error| format!("{}: {error}", folder.display()))
    });
    made.as_ref().map_err(Clone::clone)
}

/// Returns the folder of everything that is made for these tests.
fn home() -> PathBuf {
    repository().join("target/real-node/gc")
}

impl ImageNode {
    /// Starts a node with every image of the catalogue.
    #[track_caller]
    pub fn start(programs: Option<PathBuf>, catalogue: &'static Catalogue) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        // The scripts start one node after the other in a folder.
        let folder = home().join(number.to_string()).join("node");
        let cgroup = format!("/kq-gc-{}-{number}", std::process::id());
        let mut arguments = vec![text(&folder), "--until-eof".to_owned()];
        let mut option =
            |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        option("--cgroup-root", &cgroup);
        option("--snapshotter", SNAPSHOTTER);
        option("--disk", DISK);
        if let Some(programs) = &programs {
            option("--containerd", &text(programs));
        }
        let mut child = Command::new(repository().join("scripts/real-node/start"))
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the script can be run");
        let lifeline = child.stdin.take();
        let output = output_of(child).expect("the script can be waited for");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let socket = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
        let runtime = Runtime::connect(&socket).expect("the runtime can be connected to");
        let version = version_of(&runtime);
        let process = std::fs::read_to_string(folder.join("containerd.pid"));
        let process = process.expect("the runtime has a process").trim_end().parse().ok();
        let process = process.and_then(Pid::from_raw).expect("it has a number");
        let node = Self {
            version,
            folder,
            socket,
            runtime,
            catalogue,
            cgroup,
            programs,
            process,
            revived: None,
            lifeline,
        };
        node.import();
        node
    }

    /// Returns the runtime's endpoint, for `--runtime-endpoint`.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Returns an image of the catalogue by its name.
    #[track_caller]
    pub fn made(&self, name: &str) -> &'static Made {
        let mut images = self.catalogue.images.iter();
        images.find(|image| image.name == name).unwrap_or_else(|| panic!("no image {name}"))
    }

    /// Returns the images that the runtime lists, by id, and fails where it lists one twice.
    #[track_caller]
    pub fn images(&self) -> BTreeMap<String, v1::Image> {
        let request = v1::ListImagesRequest {};
        let answer = self.runtime.call(self.runtime.images().list_images(request));
        let mut images = BTreeMap::new();
        for image in answer.expect("the runtime lists its images").images {
            let twice = images.insert(image.id.clone(), image);
            assert_eq!(twice, None);
        }
        images
    }

    /// Returns true if the runtime lists an image of the catalogue.
    #[track_caller]
    pub fn has(&self, name: &str) -> bool {
        self.images().contains_key(&self.made(name).id)
    }

    /// Has the runtime remove an image by an id or another reference, as the kubelet does by the id.
    pub fn remove_image(&self, reference: &str) -> Result<(), String> {
        let image = Some(v1::ImageSpec { image: reference.to_owned(), ..Default::default() });
        let request = v1::RemoveImageRequest { image };
        self.runtime.call(self.runtime.images().remove_image(request)).map(|_| ())
    }

    /// Has containerd's own client do something, past the CRI.
    #[track_caller]
    pub fn ctr(&self, arguments: &[&str]) -> String {
        let program = self.programs.as_ref().map_or("ctr".into(), |folder| folder.join("ctr"));
        let output = Command::new(program)
            .args(["--namespace", "k8s.io", "--address", &text(&self.socket)])
            .args(arguments)
            .output()
            .expect("ctr can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ctr {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until something is true of the node.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut is_true: impl FnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !is_true(self) {
            assert!(begun.elapsed() < PATIENCE, "still not true: {what}: {:#?}", self.images());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Imports the images. The part of containerd that speaks the CRI hears of them a little later.
    #[track_caller]
    fn import(&self) {
        let [first, then] = &self.catalogue.archives;
        let import = |archive: &Path| {
            self.ctr(&["images", "import", "--snapshotter", SNAPSHOTTER, &text(archive)])
        };
        import(first);
        // Before its tag becomes another image's it must have a reference that stays: its id. In
        // containerd 1 that other image will never have one: its tag has the label of the CRI already.
        let moved = &self.made(MOVED).id;
        self.wait_until("the image has its id", |node| {
            node.ctr(&["images", "ls", "-q"]).lines().any(|name| name == moved)
        });
        import(then);
        self.ctr(&["images", "label", PINNED.1, PINNED_LABEL]);
        self.wait_until("every image is listed", |node| {
            let images = node.images();
            let made = &node.catalogue.images;
            let pinned = images.get(&node.made(PINNED.0).id).is_some_and(|image| image.pinned);
            let listed = made.iter().all(|made| {
                images.get(&made.id).is_some_and(|image| sorted(&image.repo_tags) == made.tags)
            });
            listed && pinned == node.can_pin()
        });
    }

    /// Returns true if this containerd knows of pinned images; Debian's 1.6 has the field and never sets it.
    pub fn can_pin(&self) -> bool {
        self.version >= (1, 7)
    }
}

impl Drop for ImageNode {
    fn drop(&mut self) {
        let mut stopped = script("stop", &[&text(&self.folder)]);
        if let (Ok(()), Some(child)) = (&stopped, &mut self.revived) {
            stopped = child.wait().map(|_| ()).map_err(|error| error.to_string());
        }
        drop(self.lifeline.take());
        // What is left when a test fails goes when its process ends.
        if !thread::panicking() {
            stopped.expect("the node can be stopped");
        }
    }
}

/// Returns texts in order.
pub fn sorted(texts: &[String]) -> Vec<String> {
    let mut texts = texts.to_vec();
    texts.sort();
    texts
}

#[track_caller]
fn version_of(runtime: &Runtime) -> (u32, u32) {
    let request = v1::VersionRequest::default();
    let answer = runtime.call(runtime.client().version(request)).expect("the runtime answers");
    let mut parts = answer.runtime_version.trim_start_matches('v').split('.');
    let mut next = || parts.next().and_then(|part| part.parse().ok());
    match (next(), next()) {
        (Some(major), Some(minor)) => (major, minor),
        _ => panic!("not a version: {answer:?}"),
    }
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
