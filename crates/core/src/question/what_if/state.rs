//! A node before and after changes: its facts, and the options that override them.

use crate::kubelet_start::{Machine, StartExamination, StartFacts, examine};
use kq_answer::{Basis, Failure};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::config_on_disk::{ConfigContent, ConfigOnDisk, ConfigText};
use kq_facts::describe::ConfigSource;
use kq_facts::kubelet_config::{Source, other_defaults};
use kq_facts::live::config_source;
use kq_facts::lookup::Lookup;
use kq_facts::node::Node;
use kq_facts::overrides::{KubeletFlags, Overrides};
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::{RecordedConfig, Snapshot};
use kq_k8s::pod::ResourceName;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};
use std::sync::Arc;

/// The facts of a node, and the options that override them.
#[derive(Clone, Debug)]
pub struct NodeState {
    /// Its facts.
    pub snapshot: Snapshot,
    /// What overrides the facts.
    pub overrides: Overrides,
    /// The input of the kubelet's next start.
    pub on_disk: ConfigOnDisk,
    /// No configuration was found, so the defaults apply.
    pub has_assumed_config: bool,
}

impl NodeState {
    /// Takes a gathered node. What options say of its configuration and its Node object is put into its facts, where
    /// changes find it.
    ///
    /// # Errors
    ///
    /// Fails for options that no field accepts, and for an invalid Node object.
    pub fn of(mut snapshot: Snapshot, mut overrides: Overrides) -> Result<Self, Failure> {
        let given = overrides.config.take();
        let is_given = given.is_some();
        if let Some(given) = given {
            let source =
                overrides.config_file.clone().unwrap_or_else(|| "--kubelet-config".to_owned());
            let recorded = recorded(given.config, given.notes);
            snapshot.kubelet_config = Lookup::found(source, recorded);
        }
        let on_disk = snapshot.kubelet_config_on_disk.value().filter(|_| !is_given).cloned();
        let on_disk = on_disk.unwrap_or_else(|| as_it_runs(&snapshot));
        if let Some(file) = overrides.node_file.take() {
            snapshot.node = Lookup::found(file.file, file.object);
        }
        let mut state =
            Self { snapshot, overrides: Overrides::default(), on_disk, has_assumed_config: false };
        let mut config = state.config();
        overrides.set_fields(&mut config)?;
        let recorded = state.snapshot.kubelet_config.value();
        if recorded.map_or(&Value::Null, |recorded| &recorded.value) != &*config.value {
            state.put_config(config);
            state.on_disk = as_it_runs(&state.snapshot);
        }
        state.overrides = Overrides {
            cgroup_root: None,
            cgroup_driver: None,
            qos_reserved: None,
            kube_reserved: None,
            system_reserved: None,
            kubelet: KubeletFlags { version: overrides.kubelet.version, ..KubeletFlags::default() },
            ..overrides
        };
        Ok(state)
    }

    /// Returns the way to read the kubelet's configuration; `None`: it is unknown.
    pub fn read_as(&self) -> Option<Source> {
        self.snapshot.kubelet_config.value()?.read_as
    }

    /// Returns the kubelet's configuration before defaulting.
    pub fn config(&self) -> ConfigSource {
        config_source(&self.snapshot)
    }

    /// Returns true if the configuration files are known, apart from the running configuration.
    pub fn knows_files(&self) -> bool {
        self.snapshot.kubelet_config_on_disk.found.is_some()
    }

    /// Changes a field in the file that sets it: the last drop-in that has it, or the file of `--config`.
    pub fn edit(&mut self, field: &str, edit: impl FnOnce(&mut ConfigSource)) {
        let has_it = |text: &ConfigText| match &text.content {
            ConfigContent::Document { value, .. } => value.get(field).is_some(),
            _ => false,
        };
        let drop_in = self.on_disk.drop_ins.iter_mut().rfind(|text| has_it(text));
        let text = match drop_in {
            Some(text) => text,
            None => self.on_disk.file.get_or_insert_with(|| ConfigText {
                path: DEFAULT_FILE.to_owned(),
                content: ConfigContent::Absent,
            }),
        };
        let value = match std::mem::replace(&mut text.content, ConfigContent::Empty) {
            ConfigContent::Document { value, .. } => value,
            _ => {
                json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"})
                    .into()
            }
        };
        let mut config = ConfigSource { value, ..ConfigSource::default() };
        edit(&mut config);
        text.content = ConfigContent::Document { value: config.value, text: None };
    }

    /// Simulates the start of the kubelet. The resulting configuration becomes the running one, and is left out of what is
    /// returned.
    pub fn start(&mut self) -> StartExamination {
        let object = self.snapshot.node.value();
        let said = self.snapshot.kubelet_build().and_then(|version| version.parse().ok());
        let mut machine = Machine::of_host(&self.snapshot.host);
        if let Some(object) = object {
            for (name, amount) in object.status.capacity.iter() {
                if !machine.capacity.contains(name) {
                    // The kubelet counts CPUs in thousandths, and so does it write them.
                    let amount = match name {
                        ResourceName::Cpu => {
                            Quantity::from_milli(amount.milli_value(), Format::DecimalSi)
                        }
                        _ => amount.clone(),
                    };
                    machine.capacity.insert(name.clone(), amount);
                }
            }
        }
        let tree = self.snapshot.cgroups.value();
        let version = self.overrides.cgroup_version.or_else(|| tree?.layout.version());
        let version = version.or_else(|| self.snapshot.host.cgroup_layout().ok()?.version());
        let missing = |cgroup: &str| missing_paths(tree?, version?, cgroup);
        let runtime = self.snapshot.runtime.value();
        let driver = runtime.and_then(RuntimeFacts::driver_for_kubelet);
        let mut examination = examine(&StartFacts {
            version: self.overrides.kubelet.version.or(said),
            process: self.on_disk.process.as_ref(),
            config_file: self.on_disk.file.clone(),
            drop_ins: self.on_disk.drop_ins.clone(),
            cgroup_version: version,
            runtime_driver: driver.map(|it| it.value),
            swap_bytes: self.snapshot.host.swap_bytes().ok(),
            machine: Some(machine),
            state_files: self.snapshot.state_files.as_ref(),
            missing_paths: Some(&missing),
        });
        if examination.problems.is_empty() && examination.config.is_object() {
            self.put_config(ConfigSource {
                value: std::mem::take(&mut examination.config),
                source: Some(Source::Configz),
                ..ConfigSource::default()
            });
        }
        examination
    }

    /// Replaces the configuration.
    pub fn put_config(&mut self, config: ConfigSource) {
        let lookup = &mut self.snapshot.kubelet_config;
        let (source, notes) = match lookup.found.take() {
            Some(found) => (found.source, found.value.notes),
            None => ("the change".to_owned(), Vec::new()),
        };
        *lookup = Lookup::found(source, recorded(config, notes));
    }

    /// Returns the node with each field of its configuration, as the kubelet that runs has them: what it does not set
    /// has the default.
    pub fn with_defaults(&self, basis: &mut Basis) -> Self {
        let mut state = self.clone();
        state.has_assumed_config =
            self.snapshot.kubelet_config.found.is_none() && !self.knows_files();
        if state.has_assumed_config {
            basis.assume(
                "the kubelet runs with its default configuration: it is unknown (--kubelet-config FILE supplies it)"
                    .to_owned(),
            );
        }
        if !self.knows_files() {
            state.start();
        }
        state
    }

    /// Makes the node.
    ///
    /// # Errors
    ///
    /// Fails on a configuration that the kubelet would not read.
    pub fn node(&self) -> Result<Node, Failure> {
        Node::of(self.snapshot.clone(), self.overrides.clone())?.checked()
    }

    /// Removes from `/configz` the defaults of its version, where those of another
    /// version differ. Returns the fields.
    pub fn forget_defaults(&mut self, from: KubeletVersion, to: KubeletVersion) -> Vec<String> {
        if self.knows_files() || self.read_as() != Some(Source::Configz) {
            return Vec::new();
        }
        let file = self.on_disk.file.as_mut().map(|file| &mut file.content);
        let Some(ConfigContent::Document { value, .. }) = file else { return Vec::new() };
        let Value::Object(fields) = Arc::make_mut(value) else { return Vec::new() };
        let is_default = |field: &str, default: &str| {
            let default = serde_json::from_str::<Value>(default).ok();
            fields.get(field).is_some_and(|value| Some(value) == default.as_ref())
        };
        let other = other_defaults(from, to).filter(|(field, default)| is_default(field, default));
        let forgotten: Vec<String> = other.map(|(field, _)| field.to_owned()).collect();
        for field in &forgotten {
            fields.remove(field);
        }
        forgotten
    }
}

/// The default path of the configuration file.
const DEFAULT_FILE: &str = "/var/lib/kubelet/config.yaml";

/// Uses the running configuration as the one on the disk.
fn as_it_runs(snapshot: &Snapshot) -> ConfigOnDisk {
    let process = snapshot.kubelet.value().cloned();
    let named = process.as_ref().and_then(|process| process.interpreted().config);
    let file = snapshot.kubelet_config.value().map(|config| {
        let mut value = config.value.clone();
        // /configz reports neither field.
        let has_type = value.get("apiVersion").is_some() && value.get("kind").is_some();
        if !has_type && let Some(fields) = Arc::make_mut(&mut value).as_object_mut() {
            let kind = json!("KubeletConfiguration");
            fields.entry("apiVersion").or_insert_with(|| json!("kubelet.config.k8s.io/v1beta1"));
            fields.entry("kind").or_insert(kind);
        }
        ConfigText {
            path: named.unwrap_or_else(|| DEFAULT_FILE.to_owned()),
            content: ConfigContent::Document { value, text: None },
        }
    });
    ConfigOnDisk { process, file, drop_ins: Vec::new() }
}

/// Returns the paths at which a cgroup is missing. The tree has the cgroups right below the root.
fn missing_paths(tree: &CgroupTree, version: CgroupVersion, cgroup: &str) -> Option<Vec<String>> {
    let path = CgroupPath::new(cgroup);
    if tree.get(&path).is_some() {
        return Some(Vec::new());
    }
    if path.depth() != 1 || tree.get(&CgroupPath::root()).is_none() {
        return None;
    }
    let path = path.as_str();
    Some(match version {
        CgroupVersion::V2 => vec![format!("/sys/fs/cgroup{path}")],
        CgroupVersion::V1 => ["pids", "systemd", "cpu", "cpuacct", "cpuset", "memory"]
            .map(|name| format!("/sys/fs/cgroup/{name}{path}"))
            .to_vec(),
    })
}

fn recorded(config: ConfigSource, notes: Vec<String>) -> RecordedConfig {
    let ConfigSource { value, source, origins } = config;
    let origins = origins.into_iter().map(|(field, origin)| (field, origin.to_string()));
    RecordedConfig { value, read_as: source, origins: origins.collect(), notes }
}
