//! Builds the tree of a plan, level by level.

use crate::container::{ContainerCgroup, container_cgroups, container_files};
use crate::files::{CgroupDriver, CgroupVersion, FileValue};
use crate::node::{NodePart, NodeResources, ReservedCgroup, kubepods_config, reserved_cgroups};
use crate::parallel::in_parallel;
use crate::plan::{Owner, PlanError, PlannedCgroup, Runtimes, SystemdUnit};
use crate::pod::{effective_uid, has_pinned_pod, pinned_containers, pod_resource_config};
use crate::pod_warnings::{overcommitment, pod_warnings};
use crate::qos::{QosCgroups, QosSums, qos_cgroups};
use crate::resource_config::{ExplainedFile, ResourceConfig};
use crate::settings::CgroupSettings;
use kq_answer::cgroup_fact::CgroupFact;
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_name::{CgroupName, container_path, systemd_units};
use kq_facts::node_config::NodeConfig;
use kq_k8s::pod::{ByName, ContainerStatus, Pod, ResourceName};
use kq_k8s::qos::{QosClass, effective_qos_class};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const OOM_SCORE_ADJ: &str = CgroupFile::OomScoreAdj.v2_name();

pub(super) struct Planner<'n> {
    pub(super) node: &'n NodeConfig,
    pub(super) settings: CgroupSettings,
    pub(super) runtimes: Runtimes,
}

impl Planner<'_> {
    pub(super) fn kubepods<'p>(
        &self,
        active: &[&'p Pod],
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<PlannedCgroup<'p>>, PlanError> {
        let per_qos = self.settings.cgroups_per_qos;
        let name = CgroupName::node_allocatable_root(&self.settings.root, per_qos);
        let mut sums = QosSums::default();
        for pod in active {
            sums.add(pod, &self.settings);
        }
        let percent = self.node.reservations.qos_memory_percent;
        let qos = qos_cgroups(&sums, percent, &self.settings);
        warnings.extend(overcommitment(active, &sums, &self.settings));
        if per_qos {
            warn_of_limits(&qos, warnings);
        } else {
            warnings.push(Warning::new(
                WarningCode::NoPodCgroups,
                "cgroupsPerQOS is false: pods have no cgroups of their own, and the runtime decides \
                 where it puts containers",
            ));
        }
        let mut by_class: BTreeMap<QosClass, Vec<&Pod>> = BTreeMap::new();
        for pod in active {
            let class = effective_qos_class(pod, self.settings.rules.gates);
            by_class.entry(class).or_default().push(pod);
        }
        let mut pods_of = |class| -> Result<Vec<PlannedCgroup<'p>>, PlanError> {
            let parent = match per_qos {
                true => Some(self.path(&CgroupName::qos(&name, class))?),
                false => None,
            };
            let pods = by_class.remove(&class).unwrap_or_default();
            let planned = in_parallel(&pods, |pod| self.pod(pod, class, parent.as_deref()));
            Ok(planned
                .into_iter()
                .map(|(cgroup, about)| {
                    warnings.extend(about);
                    cgroup
                })
                .collect())
        };
        let mut children = pods_of(QosClass::Guaranteed)?;
        for (class, config) in
            [(QosClass::Burstable, qos.burstable), (QosClass::BestEffort, qos.besteffort)]
        {
            let pods = pods_of(class)?;
            if !per_qos {
                children.extend(pods);
                continue;
            }
            let mut missing = Vec::new();
            missing
                .extend(qos.missing.map(|fact| (self.name_of(CgroupFile::MemoryMax).into(), fact)));
            let path = self.path(&CgroupName::qos(&name, class))?;
            children.push(self.own(Owner::Qos(class), path, config, missing, pods));
        }
        let Some(own) = kubepods_config(&self.resources(), &self.node.config, &self.settings)
        else {
            return Ok(children);
        };
        let config = overwritten(own, qos.kubepods, per_qos);
        let (path, missing) = (self.path(&name)?, self.missing_capacity());
        Ok(vec![self.own(Owner::Node(NodePart::Kubepods), path, config, missing, children)])
    }

    fn pod<'p>(
        &self,
        pod: &'p Pod,
        class: QosClass,
        parent: Option<&str>,
    ) -> (PlannedCgroup<'p>, Vec<Warning>) {
        let pinned: BTreeSet<&str> = pinned_containers(pod, &self.settings).collect();
        let config = pod_resource_config(pod, has_pinned_pod(pod, &self.settings), &self.settings);
        let warnings = pod_warnings(pod, class, &config, self.node, &self.settings);
        let path = parent.map(|parent| self.pod_path(pod, parent)).unwrap_or_default();
        let containers = container_cgroups(pod, &|name| pinned.contains(name), &self.settings);
        let status = &pod.status;
        let statuses = status.containers_and_init();
        let statuses = ByName::first_of(statuses.chain(&status.ephemeral_container_statuses));
        let children = containers
            .into_iter()
            .map(|container| {
                let name = container.container.name.as_str();
                let (status, pinned) = (statuses.get(name), pinned.contains(name));
                self.container((pod, class), &path, container, status, pinned)
            })
            .collect();
        let owner = Owner::Pod(pod, class);
        if path.is_empty() {
            let cgroup = PlannedCgroup {
                owner,
                path,
                files: vec![],
                unit: None,
                missing: vec![],
                withheld: vec![],
                children,
            };
            return (cgroup, warnings);
        }
        (self.own(owner, path, config, Vec::new(), children), warnings)
    }

    fn container<'p>(
        &self,
        (pod, class): (&'p Pod, QosClass),
        pod_path: &str,
        cgroup: ContainerCgroup<'p>,
        status: Option<&'p ContainerStatus>,
        pinned: bool,
    ) -> PlannedCgroup<'p> {
        let ContainerCgroup { container, kind, resources, oom_score_adj, mut missing, .. } = cgroup;
        let mut files = container_files(resources, self.runtimes.of(pod), &self.settings);
        match oom_score_adj {
            Ok(score) => {
                let file = FileValue { file: OOM_SCORE_ADJ.into(), value: score.value.to_string() };
                files.push(ExplainedFile::new(file, score.because));
            }
            Err(fact) => missing.push((OOM_SCORE_ADJ, fact)),
        }
        PlannedCgroup {
            owner: Owner::Container {
                pod,
                class,
                kind,
                name: &container.name,
                container,
                status,
                pinned,
            },
            path: container_path(pod_path, status, &container.name, self.settings.driver),
            files,
            unit: None,
            missing: missing.into_iter().map(|(file, fact)| (file.into(), fact)).collect(),
            withheld: Vec::new(),
            children: Vec::new(),
        }
    }

    pub(super) fn reserved<'p>(
        &self,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<PlannedCgroup<'p>>, PlanError> {
        let cgroups = reserved_cgroups(&self.resources(), &self.node.config, &self.settings)?;
        let planned = cgroups.into_iter().map(|ReservedCgroup { part, given, name, config }| {
            let field = part.name();
            let path = self.path_of(&name, &format!("{field}Cgroup"), given)?;
            if path.trim_end_matches('/') != given.trim_end_matches('/') {
                let text = format!(
                    "{field}Cgroup {given} is {path} to the {} driver, which must exist: only the last \
                     part of the name counts",
                    self.settings.driver
                );
                let warning = Warning::new(WarningCode::ReservedCgroup, text);
                warnings.push(warning.about(format!("{field}Cgroup")));
            }
            Ok(self.own(Owner::Node(part), path, config, Vec::new(), Vec::new()))
        });
        planned.collect()
    }

    /// Puts together a cgroup that the kubelet itself writes.
    fn own<'p>(
        &self,
        owner: Owner<'p>,
        path: String,
        config: ResourceConfig,
        missing: Vec<(Cow<'static, str>, CgroupFact)>,
        children: Vec<PlannedCgroup<'p>>,
    ) -> PlannedCgroup<'p> {
        let unit = (self.settings.driver == CgroupDriver::Systemd).then(|| {
            let (unit, parent) = systemd_units(&path);
            SystemdUnit {
                unit: unit.to_owned(),
                parent: parent.to_owned(),
                properties: config.systemd_properties(&self.settings),
            }
        });
        PlannedCgroup {
            owner,
            path,
            files: config.files(&self.settings),
            unit,
            missing,
            withheld: Vec::new(),
            children,
        }
    }

    fn resources(&self) -> NodeResources<'_> {
        NodeResources {
            capacity: &self.node.capacity,
            allocatable: &self.node.allocatable,
            reservations: &self.node.reservations,
            cpus: self.node.cpus.as_ref(),
        }
    }

    /// Returns the files of kubepods that wait for a fact about the machine.
    fn missing_capacity(&self) -> Vec<(Cow<'static, str>, CgroupFact)> {
        let shares = match self.settings.version {
            CgroupVersion::V1 => CgroupFile::CpuShares,
            CgroupVersion::V2 => CgroupFile::CpuWeight,
        };
        let mut missing = Vec::new();
        for (name, file, fact) in [
            (ResourceName::Cpu, shares, CgroupFact::CpuCapacity),
            (ResourceName::Memory, CgroupFile::MemoryMax, CgroupFact::MemoryCapacity),
            ("pid".into(), CgroupFile::PidsMax, CgroupFact::PidCapacity),
        ] {
            if !self.node.capacity.contains(&name) {
                missing.push((self.name_of(file).into(), fact));
            }
        }
        if self.node.cpus.is_none() && !self.settings.static_cpu_manager {
            missing.push((self.name_of(CgroupFile::CpusetCpus).into(), CgroupFact::CpuCapacity));
        }
        missing
    }

    fn name_of(&self, file: CgroupFile) -> &'static str {
        file.name(self.settings.version)
    }

    fn path(&self, name: &CgroupName) -> Result<String, PlanError> {
        self.path_of(name, "cgroupRoot", &self.settings.root)
    }

    /// Returns the path of a cgroup whose name follows from a field of the configuration.
    fn path_of(&self, name: &CgroupName, field: &str, given: &str) -> Result<String, PlanError> {
        name.to_path(self.settings.driver).map_err(|error| PlanError::Name {
            field: field.to_owned(),
            given: given.to_owned(),
            driver: self.settings.driver,
            error,
        })
    }

    /// Returns the path of a pod's cgroup; one whose UID is not known yet is named after the pod.
    fn pod_path(&self, pod: &Pod, parent: &str) -> String {
        let name = match effective_uid(pod) {
            "" => format!("pod<uid:{}.{}>", pod.metadata.namespace, pod.display_name()),
            uid => format!("pod{uid}"),
        };
        // Pods with a UID or a name that is no part of a path were refused when they were read.
        CgroupName::child_path(parent, &name, self.settings.driver).unwrap_or_default()
    }
}

/// Returns what is on kubepods once the QoS level was updated over it, a minute after the start at the
/// latest.
fn overwritten(mut own: ResourceConfig, kubepods: ResourceConfig, per_qos: bool) -> ResourceConfig {
    if per_qos {
        own.hugepage_limits.extend(kubepods.hugepage_limits);
        own.unified.extend(kubepods.unified);
    }
    own
}

/// Warns about a limit that leaves nothing.
fn warn_of_limits(qos: &QosCgroups, warnings: &mut Vec<Warning>) {
    for (name, config) in [("burstable", &qos.burstable), ("besteffort", &qos.besteffort)] {
        let Some(limit) = config.memory_limit.as_ref().map(|limit| limit.value) else { continue };
        let outcome = match limit {
            1.. => continue,
            0 => "the kubelet takes 0 for \"not set\" and writes nothing: no new limit",
            -1 => "-1 stands for no limit",
            _ => "the kernel refuses a negative limit",
        };
        let text = format!("qosReserved leaves {limit} bytes for {name}: {outcome}");
        warnings.push(Warning::new(WarningCode::QosReserved, text).about(name));
    }
}
