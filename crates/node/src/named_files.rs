//! Files that replace single facts of a node.

use super::NodeSpec;
use super::devices::of_named_file;
use super::given_devices::read_devices;
use super::node_file::NodeFile;
use super::stats::of_stats_file;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::devices::DeviceFacts;
use kq_facts::fact_key::FactKey;
use kq_facts::input_name::shown;
use kq_facts::lookup::Lookup;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::overrides::Overrides;
use kq_facts::pod_resources::read_answers;
use kq_facts::snapshot::Snapshot;
use kq_io::input::read_input;

/// Files that replace single facts of a node; `None`: the node is queried.
#[derive(Clone, Debug, Default)]
pub struct NamedFiles {
    /// The Node object.
    pub node: Option<String>,
    /// The kubelet's facts about devices.
    pub devices: DeviceFiles,
    /// The kubelet's stats summary.
    pub stats: Option<String>,
}

impl NamedFiles {
    /// Gathers a node with the facts of the files over its own, and describes its kubelet. `observe` is called with the
    /// gathered facts.
    ///
    /// # Errors
    ///
    /// Fails as [`gather_node`](crate::gather_node) does, for files that cannot be read, and for the Node object of another node.
    pub fn gather(
        &self,
        spec: &NodeSpec,
        overrides: Overrides,
        mut needs: Needs,
        observe: impl FnOnce(&Snapshot),
    ) -> Result<Node, Failure> {
        let stats = self.stats.as_deref().map(of_stats_file).transpose()?;
        if stats.is_some() {
            needs = needs.without(&[
                FactKey::StatsSummary,
                FactKey::CgroupTree,
                FactKey::CgroupUsage,
                FactKey::CgroupStatistics,
                FactKey::Processes,
            ]);
        }
        let devices = self.devices.read()?;
        devices.leave_out(&mut needs);
        needs.files |= stats.is_some() || self.devices.first_flag().is_some();
        let mut notes = Vec::new();
        let node_file = NodeFile::read(self.node.as_deref(), &mut notes)?;
        let object = node_file.put_into(&mut needs, spec)?;
        let mut node = crate::gather_node_with(spec, overrides, needs, |snapshot| {
            observe(snapshot);
            devices.put(snapshot);
            if let Some(object) = object {
                snapshot.node = object;
            }
            if let Some(stats) = stats {
                snapshot.stats_summary = stats;
            }
        })?;
        node_file.check(&node.snapshot, spec)?;
        node.notes.extend(notes);
        Ok(node)
    }
}

/// Files with the kubelet's facts about devices.
#[derive(Clone, Debug, Default)]
pub struct DeviceFiles {
    /// The device manager's checkpoint.
    pub checkpoint: Option<String>,
    /// The answer of the kubelet's pod-resources API as JSON.
    pub pod_resources: Option<String>,
    /// A list of devices in JSON or YAML.
    pub given: Option<String>,
}

impl DeviceFiles {
    /// Returns the flag of the first file that is named.
    pub fn first_flag(&self) -> Option<&'static str> {
        let given = [
            (self.checkpoint.is_some(), "--checkpoint"),
            (self.pod_resources.is_some(), "--pod-resources"),
        ];
        given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// Reads the named files.
    ///
    /// # Errors
    ///
    /// Fails for a file that cannot be read.
    pub fn read(&self) -> Result<FiledDevices, Failure> {
        let mut given = DeviceFacts::default();
        if let Some(file) = &self.checkpoint {
            let fact = of_named_file(file).map_err(Failure::missing)?;
            given.checkpoint = Lookup::found(shown(file), fact);
        }
        if let Some(file) = &self.pod_resources {
            let content = read_input(file).map_err(Failure::missing)?;
            let name = shown(file);
            let answers = read_answers(name, &content).map_err(|error| {
                Failure::usage(anyhow!("--pod-resources {name}: {error}")).hint(
                    "the answer to List is expected, or an object with List and \
                     GetAllocatableResources; kq snapshot stores both",
                )
            })?;
            given.pod_resources = Lookup::found(name, answers);
        }
        given.given = self.given.as_deref().map(read_devices).transpose()?.unwrap_or_default();
        Ok(FiledDevices(given))
    }
}

/// The content of the files.
#[derive(Debug)]
pub struct FiledDevices(DeviceFacts);

impl FiledDevices {
    /// Removes the facts of the files from `needs`.
    pub fn leave_out(&self, needs: &mut Needs) {
        if self.0.checkpoint.found.is_some() {
            *needs = needs.without(&[FactKey::DeviceCheckpoint]);
        }
        if self.0.pod_resources.found.is_some() {
            *needs = needs.without(&[FactKey::PodResources]);
        }
    }

    /// Replaces the node's facts with those of the files.
    pub fn put(self, snapshot: &mut Snapshot) {
        let Self(DeviceFacts { checkpoint, pod_resources, given, .. }) = self;
        if checkpoint.found.is_none() && pod_resources.found.is_none() && given.is_empty() {
            return;
        }
        let devices = snapshot.devices.get_or_insert_default();
        devices.given = given;
        if checkpoint.found.is_some() {
            devices.checkpoint = checkpoint;
        }
        if pod_resources.found.is_some() {
            devices.pod_resources = pod_resources;
        }
    }
}
