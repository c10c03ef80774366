//! A node of our own, and the part of the kubelet that the tests play on it.

use super::cgroups::Hierarchies;
use super::pods::{Runc, Running};
use super::runtime::Runtime;
use crate::cli::{Run, kq, repository};
use kq_cgroup::files::CgroupVersion;
use kq_cgroup::plan::RuntimeFormula;
use kq_facts::describe::{NodeSources, describe};
use kq_facts::node_config::NodeConfig as DescribedNode;
use kq_facts::overrides::{GivenConfig, Overrides};
use kq_io::kubelet_files::read_kubelet_config;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

/// The kubelet's configuration below the cgroup that is ours. Reservations and a limit of processes
/// give every file of every level a value of its own.
const CONFIGURATION: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
podPidsLimit: 321
kubeReserved:
  cpu: 100m
  memory: 128Mi
  pid: \"1000\"
systemReserved:
  cpu: 150m
";

/// A node that runs.
pub struct Node {
    /// Where it has its files.
    pub folder: PathBuf,
    /// The runtime's socket.
    pub socket: PathBuf,
    /// The cgroup above everything that the tests make: `cgroupRoot`.
    pub root: String,
    /// The machine's cgroups.
    pub cgroups: Hierarchies,
    /// The connection to the runtime.
    pub runtime: Runtime,
    /// Scores below that of the tests are allowed; there are machines where they are not.
    pub lowers_scores: bool,
    described: DescribedNode,
    capacity: BTreeMap<String, String>,
    swap_controller: bool,
    versions: BTreeMap<Runc, String>,
    /// The node is stopped when this is closed, which happens however the tests end; of a machine of its own, none.
    _lifeline: Option<ChildStdin>,
}

impl Node {
    /// Starts a node; where there cannot be one, says why.
    pub(super) fn start() -> Result<Self, String> {
        let root = format!("/kq-test-{}", std::process::id());
        let cgroups = Hierarchies::of_machine().map_err(|error| error.to_string())?;
        // In the emulated machine everything is there already, and nothing to install it with.
        let has_newer = super::is_guest() || {
            script("install", &[])?;
            script("install", &["newer"]).inspect_err(|error| super::skip(error)).is_ok()
        };
        let newer = repository().join("target/real-node/newer/runc");
        let folder = repository().join("target/real-node/node");
        let mut arguments = vec![text(&folder), "--cgroup-root".to_owned(), root.clone()];
        let mut versions = BTreeMap::from([(Runc::System, version_of(Path::new("runc"))?)]);
        if has_newer {
            arguments.extend(["--handler".to_owned(), format!("newer={}", newer.display())]);
            versions.insert(Runc::Newer, version_of(&newer)?);
        }
        // The emulated machine has no plugins for it.
        if !super::is_guest() {
            arguments.push("--network".to_owned());
        }
        arguments.push("--until-eof".to_owned());
        let mut child = Command::new(repository().join("scripts/real-node/start"))
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("scripts/real-node/start: {error}"))?;
        let lifeline = child.stdin.take().ok_or("the script has no standard input")?;
        let output = super::output_of(child).map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let socket = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());

        cgroups.create(&root);
        let swap_file = match cgroups.version {
            CgroupVersion::V1 => "memory.memsw.limit_in_bytes",
            CgroupVersion::V2 => "memory.swap.max",
        };
        let swap_controller = cgroups.file(&root, swap_file).exists();
        let config = folder.join("kubelet.yaml");
        std::fs::write(&config, format!("{CONFIGURATION}cgroupRoot: {root}\n"))
            .map_err(|error| error.to_string())?;
        let capacity = capacity(&cgroups)?;
        let described = described(&config, &cgroups, &capacity, swap_controller, 0)?;
        Ok(Self {
            runtime: Runtime::connect(&socket)?,
            lowers_scores: lowers_scores(),
            folder,
            socket,
            root,
            cgroups,
            described,
            capacity,
            swap_controller,
            versions,
            _lifeline: Some(lifeline),
        })
    }

    /// Takes a whole machine for the node: its containerd, and systemd's cgroups. `swap` is the machine's, in bytes.
    #[cfg(feature = "cri")]
    pub(super) fn of_machine(configuration: &str, swap: i64) -> Result<Self, String> {
        let folder = PathBuf::from("/var/lib/kubelet");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let config = folder.join("kubelet.yaml");
        std::fs::write(&config, configuration).map_err(|error| error.to_string())?;
        let cgroups = Hierarchies::of_machine().map_err(|error| error.to_string())?;
        let socket = PathBuf::from("/run/containerd/containerd.sock");
        let capacity = capacity(&cgroups)?;
        let versions = [(Runc::System, super::systemd::program("runc")?)];
        let version = |(runc, path): (Runc, String)| Ok((runc, version_of(Path::new(&path))?));
        Ok(Self {
            runtime: Runtime::connect(&socket)?,
            described: described(&config, &cgroups, &capacity, true, swap)?,
            lowers_scores: lowers_scores(),
            folder,
            socket,
            root: String::new(),
            cgroups,
            capacity,
            swap_controller: true,
            versions: versions.into_iter().map(version).collect::<Result<_, String>>()?,
            _lifeline: None,
        })
    }

    /// Runs pods as the kubelet would run them, all of them at once on an otherwise empty node, and
    /// returns when their containers have started. The manifest is YAML with as many documents as
    /// there are pods; each needs a UID. They end when what is returned is dropped.
    #[track_caller]
    pub fn run_pods(&self, manifest: &str, runc: Runc) -> Running<'_> {
        Running::start(self, manifest, runc)
    }

    /// Runs one pod with the system's runc.
    #[track_caller]
    pub fn run_pod(&self, manifest: &str) -> Running<'_> {
        self.run_pods(manifest, Runc::System)
    }

    /// Returns the node as kq describes it.
    pub fn described(&self) -> &DescribedNode {
        &self.described
    }

    /// Returns how a runc turns shares into a weight, by its version.
    #[track_caller]
    pub fn formula(&self, runc: Runc) -> RuntimeFormula {
        let version = &self.versions[&runc];
        let formula = RuntimeFormula::of_runtime("runc", version);
        formula.unwrap_or_else(|| panic!("runc {version}: which formula?"))
    }

    /// Returns true if pods can run with a runc.
    pub fn has(&self, runc: Runc) -> bool {
        self.versions.contains_key(&runc)
    }

    /// Returns the version of a runc.
    pub fn version(&self, runc: Runc) -> &str {
        &self.versions[&runc]
    }

    /// Prepares `kq LINE` with flags that describe this node and the system's runc.
    pub fn kq(&self, line: &str) -> Run {
        let capacity: Vec<String> =
            self.capacity.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        kq(line)
            .arg("--kubelet-config")
            .arg(text(&self.folder.join("kubelet.yaml")))
            .arg("--cgroup-version")
            .arg(self.cgroups.version.to_string())
            .arg("--capacity")
            .arg(capacity.join(","))
            .arg("--swap-controller")
            .arg(self.swap_controller.to_string())
            .arg("--runtime")
            .arg(format!("runc={}", self.version(Runc::System)))
    }
}

/// Runs one of the scripts to its end.
pub fn script(name: &str, arguments: &[&str]) -> Result<(), String> {
    let path = repository().join("scripts/real-node").join(name);
    let output = Command::new(&path)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(super::output_of)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
}

/// Returns what `runc --version` says in its first line.
fn version_of(program: &Path) -> Result<String, String> {
    let output = Command::new(program)
        .arg("--version")
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.lines().next().and_then(|line| line.strip_prefix("runc version "));
    version.map(str::to_owned).ok_or_else(|| format!("{} says {said:?}", program.display()))
}

/// Returns what the machine has, as the kubelet counts it.
fn capacity(cgroups: &Hierarchies) -> Result<BTreeMap<String, String>, String> {
    let read =
        |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let cpus = std::thread::available_parallelism().map_err(|error| error.to_string())?;
    let meminfo = read("/proc/meminfo")?;
    let memory = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let memory = memory.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let memory = memory.ok_or("/proc/meminfo has no MemTotal")?;
    // The kubelet takes the smaller limit (`pkg/kubelet/stats/pidlimit`).
    let number = |path: &str| -> Result<u64, String> {
        read(path)?.trim().parse().map_err(|error| format!("{path}: {error}"))
    };
    let pids = number("/proc/sys/kernel/pid_max")?.min(number("/proc/sys/kernel/threads-max")?);
    let mut capacity = BTreeMap::from([
        ("cpu".to_owned(), cpus.to_string()),
        ("memory".to_owned(), format!("{memory}Ki")),
        ("pid".to_owned(), pids.to_string()),
    ]);
    if cgroups.has("hugetlb") {
        for (folder, size) in [("hugepages-2048kB", "2Mi"), ("hugepages-1048576kB", "1Gi")] {
            let path = format!("/sys/kernel/mm/hugepages/{folder}");
            if Path::new(&path).exists() {
                let pages = number(&format!("{path}/nr_hugepages"))?;
                let amount = match size {
                    "2Mi" => format!("{}Mi", 2 * pages),
                    _ => format!("{pages}Gi"),
                };
                capacity.insert(format!("hugepages-{size}"), amount);
            }
        }
    }
    Ok(capacity)
}

fn described(
    config: &Path,
    cgroups: &Hierarchies,
    capacity: &BTreeMap<String, String>,
    swap_controller: bool,
    swap: i64,
) -> Result<DescribedNode, String> {
    let given = read_kubelet_config(Some(&text(config)), None);
    let GivenConfig { config, notes, .. } = given.map_err(|error| error.to_string())?;
    assert_eq!(notes, [""; 0], "of the kubelet's configuration");
    let capacity = serde_json::to_value(capacity).and_then(serde_json::from_value);
    let overrides = Overrides {
        cgroup_version: Some(cgroups.version),
        capacity: capacity.map_err(|error| error.to_string())?,
        swap_controller: Some(swap_controller),
        swap_capacity: Some(swap),
        ..Overrides::default()
    };
    let sources = NodeSources { config: &config, object: None, overrides: &overrides, live: None };
    describe(sources).map_err(|error| error.to_string())
}

/// Tries on another process whether a score may be lowered.
fn lowers_scores() -> bool {
    let command = "echo -1000 >/proc/self/oom_score_adj";
    let tried = Command::new("sh").args(["-c", command]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
