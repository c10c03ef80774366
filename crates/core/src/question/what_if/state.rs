//! A node before and after changes: its facts, and the options that override them.

use crate::kubelet_start::StartExamination;
use crate::question::start::examine_start;
use kq_answer::origin::Origin;
use kq_answer::{Basis, Failure};
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::checkpoint::StateFile;
use kq_facts::config_on_disk::ConfigOnDisk;
use kq_facts::describe::ConfigSource;
use kq_facts::host::Text;
use kq_facts::kubelet::check_typed;
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_facts::live::{config_source, missing_config};
use kq_facts::lookup::Lookup;
use kq_facts::node::{Node, of_description};
use kq_facts::overrides::{KubeletFlags, Overrides};
use kq_facts::refused_config::RefusedConfig;
use kq_facts::snapshot::{RecordedConfig, Snapshot};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::version::KubeletVersion;
use serde_json::Value;
use std::collections::BTreeSet;
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
    /// The file that takes the place of the configuration, as it was named.
    pub new_config: Option<String>,
    /// A configuration was found or given, whatever single options say.
    knows_config: bool,
    /// No configuration was found, so the defaults apply.
    pub has_assumed_config: bool,
    /// What the next start reads and kq did not.
    pub unread: Vec<String>,
    /// How many of the listed pods are of other nodes, and were left out.
    pub elsewhere: usize,
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
        let knows_config = given.as_ref().map_or_else(
            || snapshot.kubelet_config.found.is_some(),
            |given| !given.config.value.is_null(),
        );
        let mut on_disk = ConfigOnDisk::of(&snapshot, given.as_ref());
        if let Some(given) = given {
            let source =
                overrides.config_file.clone().unwrap_or_else(|| "--kubelet-config".to_owned());
            // The fields that kq reads are a guess of what such a kubelet ran with before.
            if let Some(error) = given.config.refused.clone() {
                let refused = RefusedConfig { fields: Vec::new(), is_of_flag: false, error };
                overrides.assumed_config = Some(refused.missing());
            }
            let recorded = recorded(given.config, given.notes);
            snapshot.kubelet_config = Lookup::found(source, recorded);
        }
        if let Some(file) = overrides.node_file.take() {
            snapshot.node = Lookup::found(file.file, file.object);
        }
        overrides.put_capacity(&mut snapshot);
        let elsewhere = leave_own_pods(&mut snapshot);
        let mut config = config_source(&snapshot);
        overrides.set_fields(&mut config)?;
        check_typed(&config, KubeletVersion::NEWEST)
            .map_err(|error| of_description(overrides.config_file.as_deref(), error))?;
        on_disk.set_typed(&config);
        if let Some(Origin::Flag(_)) = config.origins.get("cgroupDriver") {
            set_driver(&mut snapshot, &config);
        }
        let mut state = Self {
            snapshot,
            overrides: Overrides::default(),
            on_disk,
            new_config: None,
            knows_config,
            has_assumed_config: false,
            unread: Vec::new(),
            elsewhere,
        };
        let recorded = state.snapshot.kubelet_config.value();
        if recorded.map_or(&Value::Null, |recorded| &recorded.value) != &*config.value {
            state.put_config(config);
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

    /// Follows a start with the files and flags that the node has.
    pub fn examined(&self) -> StartExamination {
        examine_start(&self.snapshot, &self.overrides, &self.on_disk)
    }

    /// Simulates the start of the kubelet. The resulting configuration becomes the running one, and is left out of what is
    /// returned.
    pub fn start(&mut self) -> StartExamination {
        let mut examination = self.examined();
        if examination.problems.is_empty() {
            self.remove_state_files(&examination.removed);
        }
        if examination.problems.is_empty() && examination.config.is_object() {
            // Where no file was read, there are no thresholds; of an unknown configuration, the default ones are assumed.
            if let (Some(fields), Some(effective), false) = (
                Arc::make_mut(&mut examination.config).as_object_mut(),
                &examination.effective,
                self.has_assumed_config,
            ) {
                fields
                    .entry("evictionHard")
                    .or_insert_with(|| serde_json::json!(effective.eviction_hard));
            }
            self.put_config(ConfigSource {
                value: std::mem::take(&mut examination.config),
                source: Some(Source::Configz),
                by_flag: std::mem::take(&mut examination.by_flag),
                ..ConfigSource::default()
            });
        }
        examination
    }

    fn remove_state_files(&mut self, removed: &BTreeSet<StateFile>) {
        if removed.is_empty() {
            return;
        }
        let known = self.snapshot.state_files.get_or_insert_with(|| StateFiles {
            folder: DEFAULT_ROOT_DIR.to_owned(),
            ..StateFiles::default()
        });
        let absent = removed.iter().map(|file| (file.name().to_owned(), Text::Absent));
        known.files.extend(absent);
    }

    /// Puts the contents of state files into the facts, of those that are known.
    pub fn put_state_files(&mut self, files: &[(StateFile, String)]) {
        let Some(known) = &mut self.snapshot.state_files else { return };
        for (file, text) in files {
            if let Some(known) = known.files.get_mut(file.name()) {
                *known = Text::Read(text.clone());
            }
        }
    }

    /// Sets the cgroup driver in the configuration.
    pub fn put_cgroup_driver(&mut self, driver: CgroupDriver) {
        let mut config = self.config();
        if let Some(fields) = Arc::make_mut(&mut config.value).as_object_mut() {
            fields.insert("cgroupDriver".to_owned(), driver.to_string().into());
            self.put_config(config);
        }
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
        state.has_assumed_config = !self.knows_config && !self.knows_files();
        if state.has_assumed_config {
            state.overrides.assumed_config = missing_config(&state.snapshot);
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

    /// Returns the node as its kubelet left it, with the cgroup driver that made the tree; `None`: it is so, or a kubelet runs.
    pub fn as_it_ran(&self) -> Option<Self> {
        if self.snapshot.kubelet.found.is_some() {
            return None;
        }
        let node = self.node().ok()?;
        let tree = self.snapshot.cgroups.value()?;
        let mut made = node.roots.iter().filter(|(_, root)| tree.get(root).is_some());
        let (Some((driver, _)), None) = (made.next(), made.next()) else { return None };
        if *driver == node.settings().ok()?.cgroup_driver {
            return None;
        }
        let mut state = self.clone();
        state.put_cgroup_driver(*driver);
        let follows = state.node().ok()?.settings().ok()?.cgroup_driver == *driver;
        follows.then_some(state)
    }

    /// Makes the node.
    ///
    /// # Errors
    ///
    /// Fails on a configuration that the kubelet would not read.
    pub fn node(&self) -> Result<Node, Failure> {
        Node::of(self.snapshot.clone(), self.overrides.clone())?.checked()
    }
}

/// Leaves the pods that are bound to this node, or to none: the kubelet lists no others (`NewSourceApiserver`,
/// `pkg/kubelet/config/apiserver.go`). Returns how many are of other nodes. Where all are, the node is another one, and its
/// admission says so.
fn leave_own_pods(snapshot: &mut Snapshot) -> usize {
    let name = snapshot.node.value().map(|node| node.metadata.name.clone());
    let name = name.or_else(|| snapshot.node_name.value().cloned());
    let (Some(name), Some(found)) = (name, &mut snapshot.pods.found) else { return 0 };
    let pods = &mut found.value.pods;
    let is_own = |loaded: &LoadedPod| {
        let bound_to = loaded.pod.spec.node_name.as_str();
        bound_to.is_empty() || bound_to == name
    };
    let (all, own) = (pods.len(), pods.iter().filter(|it| is_own(it)).count());
    if own == 0 || own == all {
        return 0;
    }
    pods.retain(is_own);
    all - own
}

/// Lets the runtime tell the cgroup driver that an option names: the kubelet prefers it to its configuration.
fn set_driver(snapshot: &mut Snapshot, config: &ConfigSource) {
    let named = config.value.get("cgroupDriver").and_then(Value::as_str);
    let driver: Option<CgroupDriver> = named.and_then(|named| named.parse().ok());
    if let (Some(driver), Some(runtime)) = (driver, &mut snapshot.runtime.found)
        && let Some(told) = &mut runtime.value.cgroup_driver.found
    {
        told.value = driver;
    }
}

fn recorded(config: ConfigSource, notes: Vec<String>) -> RecordedConfig {
    let ConfigSource { value, source, origins, refused: _, by_flag } = config;
    let origins = origins.into_iter().map(|(field, origin)| (field, origin.to_string()));
    RecordedConfig { value, read_as: source, origins: origins.collect(), notes, by_flag }
}
