//! The flags that describe a node, and those that select one with the rules of its kubelet.

use crate::exit::Failure;
use crate::progress::waiting;
use crate::source_args::{GATHERING, SourceArgs};
use anyhow::anyhow;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::needs::Needs;
use kq_facts::overrides::{
    GivenConfig, KubeletFlags, KubeletStartOption, Overrides, RuntimeSettings,
};
use kq_facts::snapshot::Snapshot;
use kq_facts::weight_formula::WeightFormula;
use kq_io::clock::now;
use kq_io::kubelet_files::read_kubelet_config;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use kq_node::filed_node;
use kq_node::{NamedFiles, of_file};
use std::error::Error;
use std::str::FromStr;
use std::sync::OnceLock;

use kq_facts::node::Node;

/// The flags that name the files of a kubelet's configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The node")]
pub struct ConfigArgs {
    /// The KubeletConfiguration, or the response of /configz
    #[arg(long, value_name = "FILE")]
    kubelet_config: Option<String>,

    /// A directory of drop-in files, merged as the kubelet merges them
    #[arg(long, value_name = "DIR")]
    kubelet_config_dir: Option<String>,

    /// What was read of them: standard input can be read once, and an answer rests on one configuration.
    #[arg(skip)]
    read: OnceLock<GivenConfig>,
}

/// The flags that set the rules of a kubelet.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The node")]
pub struct RulesArgs {
    /// The kubelet version whose rules apply, such as 1.36 or 1.35.2
    #[arg(long, value_name = "VERSION")]
    pub kubelet_version: Option<KubeletVersion>,

    /// Feature gates, such as MemoryQoS=true,PodLevelResources=false
    #[arg(long, value_name = "GATES")]
    feature_gates: Option<String>,

    /// Any other field of the KubeletConfiguration, such as podPidsLimit=100,
    /// memorySwap.swapBehavior=LimitedSwap or 'enforceNodeAllocatable=[pods, kube-reserved]' (can be
    /// repeated)
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
}

/// The flags that say where a kubelet's cgroups are.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The node")]
pub struct RootArgs {
    #[command(flatten)]
    pub config: ConfigArgs,

    /// The cgroup above kubepods
    #[arg(long, value_name = "PATH")]
    pub cgroup_root: Option<String>,
}

/// The flags that describe a node. They win over the kubelet's configuration, which wins over the
/// Node object.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The node")]
pub struct NodeArgs {
    #[command(flatten)]
    pub root: RootArgs,

    /// A Node object (kubectl get node NAME -o json): capacity, versions
    #[arg(long, value_name = "FILE")]
    pub node_file: Option<String>,

    /// The capacity of the machine, such as cpu=3,memory=8Gi,hugepages-2Mi=64Mi,pid=32768
    #[arg(long, value_name = "RESOURCES", value_parser = parse_capacity)]
    capacity: Option<ResourceList>,

    #[command(flatten)]
    rules: RulesArgs,

    /// The kernel's cgroup interface: 1 or 2. kq cgroup plan takes 1,2 as well, and shows both
    #[arg(
        long, value_name = "VERSION", value_delimiter = ',', num_args = 1,
        value_parser = one_of::<CgroupVersion>(["1", "2"])
    )]
    pub cgroup_version: Vec<CgroupVersion>,

    /// The cgroup driver: cgroupfs or systemd
    #[arg(long, value_name = "DRIVER", value_parser = one_of::<CgroupDriver>(["cgroupfs", "systemd"]))]
    cgroup_driver: Option<CgroupDriver>,

    /// Resources reserved for higher QoS classes, such as memory=50% (needs the gate QOSReserved)
    #[arg(long, value_name = "RESOURCES")]
    qos_reserved: Option<String>,

    /// Resources reserved for Kubernetes components, such as cpu=100m,memory=256Mi
    #[arg(long, value_name = "RESOURCES")]
    kube_reserved: Option<String>,

    /// Resources reserved for the system, such as cpu=100m,memory=256Mi
    #[arg(long, value_name = "RESOURCES")]
    system_reserved: Option<String>,

    /// The runtime's formula for CPU shares to cgroup v2 weight: linear or quadratic
    #[arg(long, value_name = "FORMULA", conflicts_with = "runtime",
          value_parser = one_of::<WeightFormula>(["linear", "quadratic"]))]
    runtime_weight_formula: Option<WeightFormula>,

    /// The low-level runtime, such as runc=1.3.1 or crun=1.23; it determines the formula. More of them
    /// after a comma are those of RuntimeClasses, whose handlers have their names
    #[arg(long, value_name = "NAME=VERSION")]
    runtime: Option<String>,

    /// Settings of containerd, such as disable_hugetlb_controller=true,restrict_oom_score_adj=false
    #[arg(long, value_name = "NAME=BOOL", value_parser = RuntimeSettings::parse)]
    runtime_set: Option<RuntimeSettings>,

    /// The amount of swap of the machine
    #[arg(long, value_name = "AMOUNT", value_parser = parse_bytes)]
    swap_capacity: Option<i64>,

    /// Whether the kernel can limit swap per cgroup
    #[arg(long, value_name = "BOOL")]
    swap_controller: Option<bool>,

    /// The size of a memory page
    #[arg(long, value_name = "AMOUNT", value_parser = parse_page_size)]
    page_size: Option<i64>,
}

impl ConfigArgs {
    /// Returns the files that are named.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.kubelet_config.iter().chain(&self.kubelet_config_dir)
    }

    /// Returns true if a file or a folder is named.
    pub fn is_given(&self) -> bool {
        self.kubelet_config.is_some() || self.kubelet_config_dir.is_some()
    }

    /// Returns the file of the configuration.
    pub fn file(&self) -> Option<&str> {
        self.kubelet_config.as_deref()
    }

    /// Reads the kubelet's configuration, if it is given.
    pub fn given_config(&self) -> Result<Option<GivenConfig>, Failure> {
        if !self.is_given() {
            return Ok(None);
        }
        if let Some(read) = self.read.get() {
            return Ok(Some(read.clone()));
        }
        let given =
            read_kubelet_config(self.kubelet_config.as_deref(), self.kubelet_config_dir.as_deref());
        let given = given.map_err(of_file)?;
        Ok(Some(self.read.get_or_init(|| given).clone()))
    }
}

impl RulesArgs {
    /// Returns what the flags say.
    pub fn flags(&self) -> KubeletFlags {
        KubeletFlags {
            version: self.kubelet_version,
            feature_gates: self.feature_gates.clone(),
            set: self.set.clone(),
        }
    }
}

impl RootArgs {
    /// Returns what the flags say, with the files that they name.
    pub fn overrides(&self) -> Result<Overrides, Failure> {
        Ok(Overrides {
            config: self.config.given_config()?,
            config_file: self.config.file().map(str::to_owned),
            cgroup_root: self.cgroup_root.clone(),
            ..Overrides::default()
        })
    }
}

impl From<ConfigArgs> for RootArgs {
    fn from(config: ConfigArgs) -> Self {
        Self { config, cgroup_root: None }
    }
}

impl NodeArgs {
    /// Returns the files that are read; not those of the drop-ins.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.root.config.kubelet_config.iter().chain(&self.node_file)
    }

    /// Returns true if a flag describes the node.
    pub fn is_given(&self) -> bool {
        let Self { root, rules, .. } = self;
        let texts = [&root.cgroup_root, &self.node_file, &rules.feature_gates, &self.qos_reserved];
        let more = [&self.kube_reserved, &self.system_reserved, &self.runtime];
        root.config.is_given()
            || texts.into_iter().chain(more).any(Option::is_some)
            || rules.kubelet_version.is_some()
            || !rules.set.is_empty()
            || self.capacity.is_some()
            || !self.cgroup_version.is_empty()
            || self.cgroup_driver.is_some()
            || self.runtime_weight_formula.is_some()
            || self.runtime_set.is_some()
            || self.swap_capacity.is_some()
            || self.swap_controller.is_some()
            || self.page_size.is_some()
    }

    /// Reads the files that are named, and makes the node of the flags alone.
    pub fn of_files(&self) -> Result<Node, Failure> {
        Node::of_files(self.overrides()?)
    }

    /// Returns what the flags say, with the files that they name.
    pub fn overrides(&self) -> Result<Overrides, Failure> {
        let cgroup_version = match self.cgroup_version.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => {
                return Err(Failure::usage(anyhow!("--cgroup-version names one version here"))
                    .hint("kq cgroup plan --cgroup-version 1,2 shows both as a table"));
            }
        };
        Ok(Overrides {
            kubelet: self.rules.flags(),
            node_file: self.node_file.as_deref().map(filed_node).transpose()?,
            capacity: self.capacity.clone().unwrap_or_default(),
            cgroup_version,
            cgroup_driver: self.cgroup_driver,
            qos_reserved: self.qos_reserved.clone(),
            kube_reserved: self.kube_reserved.clone(),
            system_reserved: self.system_reserved.clone(),
            runtime_weight_formula: self.runtime_weight_formula,
            runtime: self.runtime.clone(),
            runtime_settings: self.runtime_set.unwrap_or_default(),
            swap_capacity: self.swap_capacity,
            swap_controller: self.swap_controller,
            page_size: self.page_size,
            ..self.root.overrides()?
        })
    }
}

/// Reads one of two texts, which completions know then too.
fn one_of<T>(texts: [&'static str; 2]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(texts).try_map(|text| text.parse())
}

/// Reads `cpu=3,memory=8Gi`.
fn parse_capacity(text: &str) -> Result<ResourceList, String> {
    let mut list = ResourceList::default();
    for entry in text.split(',').filter(|entry| !entry.trim().is_empty()) {
        let (name, amount) =
            entry.split_once('=').ok_or_else(|| format!("{entry:?}: expected RESOURCE=AMOUNT"))?;
        let name = ResourceName::from(name.trim());
        let known = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage" | "pid");
        if !known && name.hugepage_size().is_none() {
            return Err(format!(
                "{:?} is not a resource of a machine: expected cpu, memory, hugepages-SIZE, pid or \
                 ephemeral-storage",
                name.as_str()
            ));
        }
        if let Some(size) = name.hugepage_size()
            && size.parse::<Quantity>().is_err()
        {
            return Err(format!("{:?}: {size:?} is not a page size such as 2Mi", name.as_str()));
        }
        let parsed: Quantity =
            amount.trim().parse().map_err(|error| format!("{name}: {amount:?}: {error}"))?;
        if parsed.sign() < 0 {
            return Err(format!("{name}: {amount:?} is negative"));
        }
        if parsed.as_units().is_none() {
            return Err(format!(
                "{name}: {amount:?} is not a whole number of units within 64 bits"
            ));
        }
        // Half a CPU, or none, would silently leave what depends on their number unknown.
        let is_number_of_cpus = |units: i64| units > 0 && CpuSet::first(units).is_some();
        if name == ResourceName::Cpu && !parsed.as_units().is_some_and(is_number_of_cpus) {
            let most = CpuSet::MOST;
            return Err(format!(
                "{name}: {amount:?} is not a number of CPUs: expected 1 to {most}"
            ));
        }
        list.insert(name, parsed);
    }
    Ok(list)
}

/// Reads an amount of bytes.
fn parse_bytes(text: &str) -> Result<i64, String> {
    let amount: Quantity = text.parse().map_err(|error| format!("{error}"))?;
    amount
        .as_units()
        .filter(|bytes| *bytes >= 0)
        .ok_or_else(|| "expected a whole number of bytes that is not negative".to_owned())
}

/// Reads the size of a page, by which amounts are divided.
fn parse_page_size(text: &str) -> Result<i64, String> {
    match parse_bytes(text)? {
        bytes if u64::try_from(bytes).is_ok_and(u64::is_power_of_two) => Ok(bytes),
        bytes => Err(format!("{bytes} bytes: a page size is a power of two")),
    }
}

/// The flags that select a node and the rules of its kubelet.
#[derive(Clone, Debug, clap::Args)]
pub struct KubeletNodeArgs {
    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    rules: RulesArgs,

    /// The kubelet's start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the
    /// start of its process)
    #[arg(long, value_name = "TIME", value_parser = parse_start, help_heading = "The node")]
    kubelet_start: Option<KubeletStartOption>,

    /// The Node object (kubectl get node NAME -o json). It selects the node's pods and supplies the
    /// kubelet's version and the node's resources. By default it is read from the API server
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    pub node_file: Option<String>,
}

impl KubeletNodeArgs {
    /// Gathers the facts and describes the kubelet. A kubelet that would not start with its configuration is described as
    /// well.
    pub fn gather(&self, needs: Needs) -> Result<Node, Failure> {
        self.gather_files(NamedFiles::default(), needs)
    }

    /// Gathers the facts, those of files first, and describes the kubelet.
    pub fn gather_files(&self, files: NamedFiles, needs: Needs) -> Result<Node, Failure> {
        let files = NamedFiles { node: self.node_file.clone(), ..files };
        let tell = |snapshot: &Snapshot| self.sources.show(snapshot);
        let (spec, overrides) = (self.sources.spec(), self.overrides()?);
        waiting(GATHERING, || files.gather(&spec, overrides, needs, tell))
    }

    /// Describes the kubelet by the flags alone, without the node.
    pub fn of_flags(&self) -> Result<Node, Failure> {
        let snapshot = Snapshot { taken_at: now(), ..Snapshot::default() };
        Node::of(snapshot, self.overrides()?)?.checked()
    }

    /// Returns true if the kubelet's configuration is given.
    pub fn is_config_given(&self) -> bool {
        self.config.is_given()
    }

    /// Returns what the flags say of the kubelet.
    pub fn overrides(&self) -> Result<Overrides, Failure> {
        Ok(Overrides {
            config: self.config.given_config()?,
            config_file: self.config.file().map(str::to_owned),
            kubelet: self.rules.flags(),
            kubelet_start: self.kubelet_start,
            ..Overrides::default()
        })
    }
}

fn parse_start(text: &str) -> Result<KubeletStartOption, String> {
    if let Ok(at) = text.parse() {
        return Ok(KubeletStartOption::At(at));
    }
    match text.parse::<GoDuration>() {
        Ok(length) if length.0 >= 0 => Ok(KubeletStartOption::Ago(length)),
        _ => {
            Err("expected a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h"
                .to_owned())
        }
    }
}
