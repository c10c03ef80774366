//! A node for the cgroup arithmetic, from its facts and from options that override them.

use anyhow::{Context, anyhow};
use kq_answer::Failure;
use kq_answer::origin::Origin;
use kq_answer::warning::Warning;
use kq_cgroup::plan::RuntimeFormula;
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::describe::{ConfigSource, LiveSources, NodeSources, describe};
use kq_facts::node::{KubeletFlags, of_description};
use kq_facts::node_config::NodeConfig;
use kq_facts::node_object::NodeObject;
use kq_facts::runtime::LowLevelRuntime;
use kq_facts::settings::{assign, assign_list};
use kq_facts::weight_formula::WeightFormula;
use kq_k8s::pod::ResourceList;
use kq_k8s::version::KubeletVersion;

/// Options that override the facts of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeOptions {
    /// The file of the kubelet's configuration, for messages.
    pub config_file: Option<String>,
    /// `cgroupRoot`
    pub cgroup_root: Option<String>,
    /// Single facts about the kubelet.
    pub kubelet: KubeletFlags,
    /// The Node object of a file.
    pub node_file: Option<FiledNode>,
    /// The capacity of the machine; resources that are not in it are the machine's own.
    pub capacity: ResourceList,
    /// The kernel's cgroup interface.
    pub cgroup_version: Option<CgroupVersion>,
    /// The cgroup driver.
    pub cgroup_driver: Option<CgroupDriver>,
    /// `qosReserved`: `memory=50%`.
    pub qos_reserved: Option<String>,
    /// `kubeReserved`: `cpu=100m,memory=256Mi`.
    pub kube_reserved: Option<String>,
    /// `systemReserved`, in the same form.
    pub system_reserved: Option<String>,
    /// The runtime's formula for cgroup v2 weights.
    pub runtime_weight_formula: Option<WeightFormula>,
    /// The low-level runtime, from which the formula follows: `runc=1.3.1`.
    pub runtime: Option<String>,
    /// The machine's swap in bytes.
    pub swap_capacity: Option<i64>,
    /// The kernel can limit swap per cgroup.
    pub swap_controller: Option<bool>,
    /// The size of a page of memory in bytes.
    pub page_size: Option<i64>,
}

/// A Node object from a file.
#[derive(Clone, Debug)]
pub struct FiledNode {
    /// The file.
    pub file: String,
    /// The object.
    pub object: NodeObject,
    /// Irregularities in it.
    pub notes: Vec<Warning>,
}

/// The gathered facts of a node.
#[derive(Default)]
pub struct NodeInputs {
    /// The kubelet's configuration.
    pub config: ConfigSource,
    /// The Node object, and where it is from.
    pub object: Option<(String, NodeObject)>,
    /// The facts of the machine and the runtime.
    pub live: Option<LiveSources>,
    /// The program that creates containers.
    pub low_level: Option<LowLevelRuntime>,
    /// Irregularities in them.
    pub notes: Vec<Warning>,
}

/// A node, and how its runtime computes weights.
pub struct NodeDescription {
    /// The node.
    pub node: NodeConfig,
    /// The runtime's formula.
    pub formula: RuntimeFormula,
    /// Irregularities in the files.
    pub notes: Vec<Warning>,
}

impl NodeOptions {
    /// Describes a node that was found; flags for single facts win over it.
    pub fn describe(&self, found: NodeInputs) -> Result<NodeDescription, Failure> {
        let (mut config, mut notes) = (found.config, found.notes);
        self.set_fields(&mut config)?;
        let object = match &self.node_file {
            Some(FiledNode { file, object, notes: odd }) => {
                notes.extend(odd.iter().cloned());
                Some((file.clone(), object.clone()))
            }
            None => found.object,
        };
        let sources = NodeSources {
            live: found.live,
            config,
            object,
            kubelet_version: self.kubelet.version,
            cgroup_version: self.cgroup_version,
            capacity: self.capacity.clone(),
            swap_capacity: self.swap_capacity,
            swap_controller: self.swap_controller,
            page_size: self.page_size,
        };
        let node = describe(&sources)
            .map_err(|error| of_description(self.config_file.as_deref(), error))?;
        let formula = self.formula(node.kubelet_version, found.low_level.as_ref())?;
        Ok(NodeDescription { node, formula, notes })
    }

    /// Applies the flags for single fields to the configuration.
    pub fn set_fields(&self, config: &mut ConfigSource) -> Result<(), Failure> {
        let driver = self.cgroup_driver.map(|driver| driver.to_string());
        let not_yaml = |flag: &str, text: &str| format!("{flag} {text}: the value is not YAML");
        for (flag, field, value) in [
            ("--cgroup-driver", "cgroupDriver", driver.as_ref()),
            ("--cgroup-root", "cgroupRoot", self.cgroup_root.as_ref()),
        ] {
            if let Some(value) = value {
                assign(config, field, value, Origin::Flag(flag))
                    .with_context(|| not_yaml(flag, value))
                    .map_err(Failure::usage)?;
            }
        }
        for (flag, field, value) in [
            ("--qos-reserved", "qosReserved", &self.qos_reserved),
            ("--kube-reserved", "kubeReserved", &self.kube_reserved),
            ("--system-reserved", "systemReserved", &self.system_reserved),
        ] {
            if let Some(value) = value {
                assign_list(config, field, value, Origin::Flag(flag))
                    .map_err(|problem| Failure::usage(anyhow!("{flag} {value}: {problem}")))?;
            }
        }
        self.kubelet.set_fields(config)
    }

    /// Decides the runtime's formula; without an option, it is that of the runtimes released with the kubelet:
    /// runc has the curve since 1.3.2, which was released between kubelet 1.34 and 1.35.
    fn formula(
        &self,
        version: KubeletVersion,
        found: Option<&LowLevelRuntime>,
    ) -> Result<RuntimeFormula, Failure> {
        if let Some(formula) = self.runtime_weight_formula {
            return Ok(RuntimeFormula::new(formula, false));
        }
        if let Some(runtime) = &self.runtime {
            let formula = runtime
                .split_once('=')
                .and_then(|(name, version)| RuntimeFormula::of_runtime(name, version));
            return match formula {
                Some(formula) => Ok(formula),
                None => Err(Failure::usage(anyhow!(
                    "--runtime {runtime}: expected runc=VERSION or crun=VERSION"
                ))
                .hint("for another runtime, pass --runtime-weight-formula linear or quadratic")),
            };
        }
        let found = found.and_then(|found| RuntimeFormula::of_runtime(&found.name, &found.version));
        if let Some(formula) = found {
            return Ok(formula);
        }
        let formula = match version.is_of_runtimes_with_curve() {
            true => WeightFormula::Quadratic,
            false => WeightFormula::Linear,
        };
        Ok(RuntimeFormula::new(formula, true))
    }
}
