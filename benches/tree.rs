//! How long reading the cgroup tree takes, beside loops that do nothing but open, read and close the
//! same files; and what is made of the tree afterwards.
//!
//! The tree is one of plain files; as root with cgroup v1 mounted, a smaller one in the kernel too.

#![expect(clippy::disallowed_methods, reason = "the files that are read have to be made first")]

#[path = "../tests/support/cgroup_tree.rs"]
mod fake;

#[path = "../tests/support/objects.rs"]
mod objects;

use criterion::{Criterion, criterion_group, criterion_main};
use fake::{Class, FakeTree, cgroup_tree};
use kq_cgroup::live::compare::Rounding;
use kq_cgroup::live::diff::{Context, diff};
use kq_cgroup::live::motion::Motion;
use kq_cgroup::live::place::live_cgroups;
use kq_cgroup::live::set_by::Writers;
use kq_cgroup::live::show::show;
use kq_cgroup::live::show_view;
use kq_cgroup::plan::{RuntimeFormula, plan};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::describe::{ConfigSource, LiveSources, NodeSources, describe};
use kq_facts::node_config::Kernel;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::Selection;
use kq_facts::weight_formula::WeightFormula;
use kq_facts::workloads::Workloads;
use kq_io::cgroup_tree::{TreeNeeds, read_tree};
use kq_io::host::read_host;
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::manifest::LoadedPod;
use rustix::fs::{Mode, OFlags, open, openat};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

const PODS: usize = 1000;
const CONTAINERS: usize = 3;

/// The folders that were read, with the names of the files that were read in each.
type Files = BTreeMap<PathBuf, Vec<String>>;

fn files_of(host_root: &Path, tree: &CgroupTree) -> Files {
    let version = tree.layout.version().expect("a version");
    let mut files = Files::new();
    for (path, texts) in tree.cgroups.iter() {
        for name in texts.0.keys() {
            let mount = match version {
                CgroupVersion::V2 => tree.layout.unified.as_ref(),
                CgroupVersion::V1 => {
                    match CgroupFile::known(version, name).expect("known").row().controller {
                        "" => tree.layout.controllers.get("memory"),
                        controller => tree.layout.controllers.get(controller),
                    }
                }
            };
            let mount = mount.expect("it was read somewhere").trim_start_matches('/');
            let folder = host_root.join(mount).join(path.as_str().trim_start_matches('/'));
            files.entry(folder).or_default().push(name.clone());
        }
    }
    files
}

/// Opens, reads and closes each file by its whole path.
fn by_path(files: &[PathBuf]) -> usize {
    let mut buffer = vec![0; 1 << 16];
    let read = |path: &PathBuf| {
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        drain(&file, &mut buffer)
    };
    files.iter().filter_map(read).sum()
}

/// Opens each folder, and in it each file.
fn by_folder(files: &Files) -> usize {
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    for (path, names) in files {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty()).expect("a folder");
        for name in names {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&folder, name.as_str(), flags, Mode::empty()).expect("a file");
            total += drain(&file, &mut buffer).unwrap_or_default();
        }
    }
    total
}

fn drain(file: &rustix::fd::OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    let mut total = 0;
    loop {
        match rustix::io::read(file, &mut *buffer).ok()? {
            0 => return Some(total),
            count => total += count,
        }
    }
}

fn wants(root: &str, all: bool) -> TreeNeeds {
    // The scores are read below /proc, which the loops do not do.
    TreeNeeds { roots: vec![CgroupPath::new(root)], usage: all, ..TreeNeeds::default() }
}

fn reading(criterion: &mut Criterion, name: &str, root: &Path, layout: &CgroupLayout, top: &str) {
    let tree = read_tree(root, layout, &wants(top, true));
    assert!(tree.problems.is_empty(), "{:?}", tree.problems);
    let files = files_of(root, &tree);
    let paths: Vec<PathBuf> =
        files.iter().flat_map(|(path, names)| names.iter().map(|name| path.join(name))).collect();
    let size: usize =
        tree.cgroups.values().flat_map(|texts| texts.0.values()).map(String::len).sum();
    // The kernel counts on, so that a number may have a digit more by now.
    for read in [by_path(&paths), by_folder(&files)] {
        assert!(read.abs_diff(size) < 1000, "the same is read: {read} and {size} bytes");
    }
    let mut group = criterion.benchmark_group(format!("{name}, {} files", paths.len()));
    group.sample_size(10);
    group.bench_function("read_tree", |bencher| {
        bencher.iter_with_large_drop(|| read_tree(root, layout, &wants(top, true)));
    });
    group.bench_function("loop by path", |bencher| bencher.iter(|| by_path(&paths)));
    group.bench_function("loop by folder", |bencher| bencher.iter(|| by_folder(&files)));
    group.bench_function("read_tree, settings only", |bencher| {
        bencher.iter_with_large_drop(|| read_tree(root, layout, &wants(top, false)));
    });
    group.finish();
}

fn plain_files(criterion: &mut Criterion) {
    for version in [CgroupVersion::V1, CgroupVersion::V2] {
        let folder = tempfile::tempdir().expect("a folder");
        let made = cgroup_tree(folder.path(), PODS, CONTAINERS, version);
        let layout = read_host(folder.path()).cgroup_layout().expect("mounts");
        let last = made.pods.last().expect("a pod");
        let wants = TreeNeeds { processes: true, ..wants(made.kubepods, true) };
        let tree = read_tree(folder.path(), &layout, &wants);
        let texts = tree.get(&CgroupPath::new(&last.path)).expect("the last pod");
        assert_eq!(texts.0.len(), made.known_files, "{version:?}");
        reading(criterion, &format!("plain {version:?}"), folder.path(), &layout, made.kubepods);
    }
}

/// Cgroups of the kernel, removed in any case.
struct OwnCgroups(Vec<PathBuf>);

impl OwnCgroups {
    fn new(layout: &CgroupLayout, top: &str, pods: usize) -> Option<Self> {
        let mut own = Self(Vec::new());
        let mut mounts: Vec<&String> = layout.controllers.values().collect();
        mounts.dedup();
        for mount in mounts {
            for pod in 0..pods {
                let pod = format!("{mount}{top}/pod{pod:08}-0000-4000-8000-000000000000");
                for path in std::iter::once(pod.clone())
                    .chain((0..CONTAINERS).map(|at| format!("{pod}/{at:064x}")))
                {
                    fs::create_dir_all(&path).ok()?;
                    own.0.push(path.into());
                }
            }
            own.0.push(format!("{mount}{top}").into());
        }
        Some(own)
    }
}

impl Drop for OwnCgroups {
    fn drop(&mut self) {
        self.0.sort();
        for path in self.0.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

fn real_cgroups(criterion: &mut Criterion) {
    let root = Path::new("/");
    let Ok(layout) = read_host(root).cgroup_layout() else { return };
    if layout.version() != Some(CgroupVersion::V1) || !rustix::process::geteuid().is_root() {
        return;
    }
    let top = format!("/kq-bench-{}", std::process::id());
    let Some(_own) = OwnCgroups::new(&layout, &top, 100) else { return };
    reading(criterion, "real V1", root, &layout, &top);
}

/// Returns the pods that a tree belongs to.
fn pods_of(made: &FakeTree) -> Vec<LoadedPod> {
    objects::loaded(made.pods.iter().enumerate().map(|(n, pod)| {
        let resources = match pod.class {
            Class::Guaranteed => json!({"limits": {"cpu": "1", "memory": "256Mi"}}),
            Class::Burstable => {
                json!({"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}})
            }
            Class::BestEffort => json!({}),
        };
        let name = |at: usize| format!("c{at}");
        let containers: Value = (0..pod.containers.len())
            .map(|at| json!({"name": name(at), "image": "a", "resources": resources}))
            .collect();
        let statuses: Value = pod.containers.iter().enumerate()
            .map(|(at, (id, _, _))| json!({
                "name": name(at), "containerID": format!("containerd://{id}"),
                "image": "a", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {}},
            }))
            .collect();
        let web = objects::pod(&format!("shop/web-{n}")).uid(&pod.uid);
        web.containers(containers).statuses(statuses)
    }))
}

fn answers(criterion: &mut Criterion) {
    for (version, driver) in
        [(CgroupVersion::V1, CgroupDriver::Cgroupfs), (CgroupVersion::V2, CgroupDriver::Systemd)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let made = cgroup_tree(folder.path(), PODS, CONTAINERS, version);
        let host = read_host(folder.path());
        let layout = host.cgroup_layout().expect("mounts");
        let tree = read_tree(folder.path(), &layout, &wants(made.kubepods, true));
        let live = LiveSources {
            host,
            runtime_driver: Some((driver, "said".to_owned())),
            ..LiveSources::default()
        };
        let (config, overrides) = (ConfigSource::default(), Overrides::default());
        let sources =
            NodeSources { config: &config, object: None, overrides: &overrides, live: Some(&live) };
        let node = describe(sources);
        let node = node.expect("a node");
        let mut pods = pods_of(&made);
        assert_eq!(pods.len(), PODS);
        for loaded in &mut pods {
            apply_api_defaults(&mut loaded.pod, &node.rules);
        }
        let formula = RuntimeFormula::new(WeightFormula::Linear, false);
        let planned = plan(&pods, &node, formula).expect("a plan");
        let workloads = Workloads::of(pods.iter().map(|loaded| &*loaded.pod), None);
        let roots = kubelet_roots("/", true);
        let root = CgroupPath::new(made.kubepods);
        let selection = Selection::default();
        let none = std::collections::BTreeSet::new();
        let context = Context {
            writers: Writers::default(),
            handlers: &std::collections::BTreeMap::new(),
            in_machines: &none,
            annotated: &none,
            workloads_of_runtime: &none,
            workloads: &workloads,
            rounding: Rounding { version, driver, kernel: Kernel::default() },
            incomplete: None,
            runtime_known: false,
            restricts_oom_score: Some(false),
            motion: &Motion::default(),
            selection: &selection,
            resizing: &[],
        };
        let mut group = criterion.benchmark_group(format!("{version:?}, {} cgroups", made.cgroups));
        group.sample_size(10);
        group.bench_function("place", |bencher| {
            bencher.iter(|| live_cgroups(black_box(&tree), &root, driver, &workloads).len());
        });
        group.bench_function("show as a table", |bencher| {
            bencher.iter(|| {
                let shown = show(black_box(&tree), &roots, &workloads, &selection, Vec::new());
                show_view::table(&shown).to_string().len()
            });
        });
        group.bench_function("plan", |bencher| {
            bencher.iter(|| plan(black_box(&pods), &node, formula).expect("a plan").roots.len());
        });
        group.bench_function("diff", |bencher| {
            bencher.iter(|| {
                let live = live_cgroups(black_box(&tree), &root, driver, &workloads);
                diff(&planned, &tree, &live, context).len()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, plain_files, real_cgroups, answers);
criterion_main!(benches);
