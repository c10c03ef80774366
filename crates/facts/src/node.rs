//! A node as its kubelet has it: gathered facts, with what an operator says over them.

use crate::cgroup_mode::CgroupDriver;
use crate::cgroup_tree::{CgroupPath, CgroupTree};
use crate::config_on_disk::ConfigOnDisk;
use crate::describe::{ConfigSource, DescribeError, NodeSources, describe};
use crate::input_name::shown;
use crate::kubelet::{Kubelet, KubeletSources, KubeletStart, check_typed, describe_kubelet};
use crate::kubelet_config::{
    A_MAP, ConfigError, EffectiveConfiguration, EvictionThreshold, Source, eviction_thresholds,
};
use crate::kubelet_pods::{AllocatedPods, KubeletPods};
use crate::kubelet_process::KubeletProcess;
use crate::live::{
    cgroup_tree, config_source, incomplete, live_sources, missing_config, unknown_facts,
};
use crate::lookup::{Lookup, Sourced};
use crate::node_config::NodeConfig;
use crate::node_object::NodeObject;
use crate::overrides::{FiledNode, GivenConfig, KubeletStartOption, Overrides};
use crate::refused_config::{Accepted, RefusedConfig};
use crate::runtime::{Container, Image, RuntimeFacts};
use crate::snapshot::Snapshot;
use crate::stats_summary::StatsSummary;
use crate::timestamp::Timestamp;
use crate::workloads::Workloads;
use anyhow::anyhow;
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_answer::{Failure, Missing};
use kq_k8s::duration::GoDuration;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::OS_LABEL;
use serde_json::Value;
use std::sync::OnceLock;

/// A node and its kubelet. It is made once of facts and overrides; a change makes another one.
#[derive(Clone, Debug)]
pub struct Node {
    /// The facts, with the overrides that have a place there, and with the pods as the kubelet has them.
    pub snapshot: Snapshot,
    /// The other overrides.
    pub overrides: Overrides,
    /// It is this machine, or the one that this is a container of.
    pub runs_here: bool,
    /// The kubelet's configuration, without the flags for single fields.
    pub config: ConfigSource,
    /// The input of the kubelet's next start, with these flags.
    on_disk: ConfigOnDisk,
    pub kubelet: Kubelet,
    /// The moment of everything.
    pub now: Timestamp,
    /// When the kubelet started.
    pub kubelet_start: Option<KubeletStart>,
    /// `runtimeRequestTimeout`: how long the kubelet waits for the runtime.
    pub runtime_request_timeout: GoDuration,
    /// The names.
    pub workloads: Workloads,
    /// The configuration of the kubelet is known; otherwise it is the default.
    pub knows_config: bool,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// Pods of files, where the pods of the node are unknown.
    pub(crate) added: Vec<LoadedPod>,
    /// What the kubelet allocated to the pods.
    pub(crate) allocated: AllocatedPods,
    /// Unknown facts and irregularities.
    pub notes: Vec<Warning>,
    /// Those of the facts alone, without the kubelet's.
    fact_notes: Vec<Warning>,
    /// Irregularities in the lists of pods.
    pub pod_notes: Vec<Warning>,
    /// Pods that were listed more than once.
    twice: Vec<Warning>,
    /// Pods that could not be read, with the reasons.
    pub left_out: Vec<String>,
    /// What the kubelet refuses in its configuration.
    refused: Vec<RefusedConfig>,
    /// What the container manager works with.
    settings: Result<NodeConfig, DescribeError>,
    /// The measurements of a node whose kubelet does not give its own, once they were asked for.
    pub measured: OnceLock<Option<Sourced<StatsSummary>>>,
}

impl Node {
    /// Makes a node of its facts and of what an operator says over them.
    /// Fails on a time that is not one, and on overrides that nothing accepts. A configuration that the kubelet would not
    /// read is a problem of the kubelet ([`Node::checked`]).
    pub fn of(snapshot: Snapshot, overrides: Overrides) -> Result<Self, Failure> {
        let now: Timestamp = snapshot.taken_at.parse().map_err(|error| {
            Failure::usage(error).hint("takenAt of the snapshot is the time of all its facts")
        })?;
        Self::at(now, snapshot, overrides, true)
    }

    /// Makes a node of what an operator says alone.
    pub fn of_files(overrides: Overrides) -> Result<Self, Failure> {
        Self::at(Timestamp::default(), Snapshot::default(), overrides, false)
    }

    fn at(
        now: Timestamp,
        mut snapshot: Snapshot,
        mut overrides: Overrides,
        is_live: bool,
    ) -> Result<Self, Failure> {
        let roots = overrides.roots(&snapshot);
        let given = overrides.config.take();
        let is_given = given.is_some();
        let mut on_disk = ConfigOnDisk::of(&snapshot, given.as_ref());
        let knows_config = is_given || snapshot.kubelet_config.found.is_some();
        let mut fact_notes = unknown_facts(&snapshot, is_given || overrides.ignores_config);
        let config = config_of(given, &snapshot, &mut fact_notes);
        if let Some(FiledNode { file, object, notes }) = &overrides.node_file {
            fact_notes.extend(notes.iter().cloned());
            snapshot.node = Lookup::found(file.clone(), object.clone());
        }
        overrides.put_capacity(&mut snapshot);
        let mut set = config.clone();
        overrides.set_fields(&mut set)?;
        on_disk.set_typed(&set);
        let patience = set.value.get("runtimeRequestTimeout").and_then(Value::as_str);
        let patience = patience.and_then(|text| text.parse::<GoDuration>().ok());
        let program = snapshot.kubelet_version.found.clone();
        let program = program.map(|found| (found.value, found.source));
        let refuse = |error| of_description(overrides.config_file.as_deref(), error);
        // What the kubelet does not decode is nowhere; what it decodes and refuses is left out where kq computes with it.
        let decoded = Accepted::of(set.clone(), |config| {
            describe_kubelet(KubeletSources {
                config,
                version: overrides.kubelet.version,
                object: object_of(&snapshot),
                program: program.as_ref(),
            })
        });
        let kubelet = decoded.made.map_err(refuse)?;
        check_typed(&set, kubelet.version).map_err(refuse)?;
        snapshot.devices.iter_mut().for_each(|devices| devices.read_by(kubelet.version));
        let live = is_live.then(|| live_sources(&snapshot, &roots));
        let accepted = Accepted::of(decoded.config, |config| {
            let object = object_of(&snapshot);
            let live = live.as_ref();
            settings_of(NodeSources { config, object, overrides: &overrides, live })
        });
        let mut refused: Vec<_> = decoded.refused.into_iter().chain(accepted.refused).collect();
        match overrides.config_file.as_deref() {
            // What the kubelet makes of the file is answered.
            Some(file) => refused.iter_mut().for_each(|it| it.name_file(shown(file))),
            None => {
                let is_whole =
                    |it: &&RefusedConfig| it.fields.is_empty() && is_given && !it.is_undecoded();
                if let Some(whole) = refused.iter().find(is_whole) {
                    return Err(refuse(whole.error.clone()));
                }
            }
        }
        if !overrides.ignores_config {
            fact_notes.extend(refused.iter().map(|it| Warning::from(it.missing())));
        }
        let kubelet_start = start_of(overrides.kubelet_start, &snapshot, now)?;
        let given = std::mem::take(&mut overrides.pods);
        let pods = KubeletPods::of(&mut snapshot, given, &kubelet.rules);
        let notes = fact_notes.iter().chain(&kubelet.warnings).chain(&pods.twice);
        let notes = notes.cloned().collect();
        Ok(Self {
            snapshot,
            overrides,
            runs_here: false,
            config,
            on_disk,
            kubelet,
            now,
            kubelet_start,
            runtime_request_timeout: patience.filter(|it| it.0 > 0).unwrap_or(TWO_MINUTES),
            workloads: pods.workloads,
            roots,
            knows_config,
            added: pods.added,
            allocated: pods.allocated,
            notes,
            fact_notes,
            pod_notes: pods.notes,
            twice: pods.twice,
            left_out: pods.left_out,
            refused,
            settings: accepted.made,
            measured: OnceLock::new(),
        })
    }

    /// Refuses flags of the operator with which the kubelet would not start.
    /// Fails on such a flag. What the node itself has is never refused.
    pub fn checked(self) -> Result<Self, Failure> {
        match self.refused.iter().find(|it| it.is_of_flag) {
            Some(refused) => {
                let error = refused.error.clone();
                Err(of_description(self.overrides.config_file.as_deref(), error))
            }
            None => Ok(self),
        }
    }

    /// Returns what the container manager works with: a field with which the kubelet would not start has its default.
    /// Fails where the machine itself is too small for a kubelet, and where it is no Linux.
    pub fn settings(&self) -> Result<&NodeConfig, Failure> {
        self.check_system()?;
        self.settings.as_ref().map_err(|error| {
            let file = self.overrides.config_file.as_deref();
            // What is left is of the machine. One that the operator describes is a question.
            match (error, self.overrides.capacity.is_empty()) {
                (DescribeError::OverReserved(over), true) => {
                    let failure = Failure::missing(anyhow!(
                        "the kubelet does not start on this machine: {over}"
                    ));
                    let hint = over.log_line();
                    let hint = hint.map(|line| format!("the kubelet logs it as: {line}"));
                    hint.into_iter().fold(failure, Failure::hint)
                }
                _ => of_description(file, error.clone()),
            }
        })
    }

    /// Checks that the node's system is one whose kubelet kq knows.
    ///
    /// # Errors
    ///
    /// Fails where its label says that it is another one.
    pub fn check_system(&self) -> Result<(), Failure> {
        let object = self.overrides.node_file.as_ref().map(|it| (&it.file, &it.object));
        let found = || self.snapshot.node.found.as_ref().map(|it| (&it.source, &it.value));
        let Some((source, object)) = object.or_else(found) else { return Ok(()) };
        match object.metadata.labels.get(OS_LABEL).filter(|os| *os != "linux") {
            None => Ok(()),
            Some(os) => Err(Failure::missing(anyhow!(
                "{source}: label {OS_LABEL} is {os}: kq supports the kubelet on linux"
            ))),
        }
    }

    /// Returns true if no kubelet was found on the node. A Node object in a file is of a node whose processes are not known.
    pub fn lacks_kubelet(&self) -> bool {
        self.snapshot.kubelet.has_failed() && self.overrides.node_file.is_none()
    }

    /// Returns the input of the kubelet's next start, with the flags for single fields.
    pub fn config_on_disk(&self) -> &ConfigOnDisk {
        &self.on_disk
    }

    /// Returns the cgroup tree.
    /// Fails when it could not be read: then there is no answer.
    pub fn tree(&self) -> Result<&CgroupTree, Failure> {
        cgroup_tree(&self.snapshot)
    }

    /// The configuration is that of the files and flags of the kubelet's process.
    pub fn is_config_of_process(&self) -> bool {
        let recorded = self.snapshot.kubelet_config.value();
        recorded.is_some_and(|recorded| recorded.read_as != Some(Source::Configz))
    }

    /// Returns true if the kubelet's whole configuration is known. A kubelet inside another program can have settings that
    /// nothing shows.
    pub fn has_configuration(&self) -> bool {
        let hides = self.snapshot.kubelet.value().is_some_and(KubeletProcess::hides_flags);
        let is_hidden = self.is_config_of_process() && hides;
        // Of one that is refused as a whole, the kubelet that runs has not read a field.
        let is_gate = |it: &RefusedConfig| matches!(it.error, DescribeError::Gates { .. });
        let is_refused = self.refused.iter().any(|it| it.fields.is_empty() && !is_gate(it));
        !self.config.value.is_null() && !is_hidden && !is_refused
    }

    /// Returns the unknown facts and irregularities of everything that a plan rests on, without those of
    /// [`Node::settings`].
    pub fn notes_of_plan(&self) -> Vec<Warning> {
        let left_out = self.left_out.iter().map(|problem| format!("left out: {problem}"));
        let left_out = WarningCode::PodLeftOut.each(left_out);
        let known = self.fact_notes.iter().chain(&self.pod_notes).chain(&self.twice);
        known.cloned().chain(left_out).collect()
    }

    /// Returns irregularities other than unknown facts, for answers that report those themselves.
    pub fn odd(&self) -> impl Iterator<Item = &Warning> {
        self.notes.iter().filter(|warning| warning.code != WarningCode::UnknownFact)
    }

    /// Returns the assumptions about the kubelet's version and configuration.
    pub fn assumed(&self) -> Vec<String> {
        let mut assumed = Vec::new();
        if !self.knows_config && self.snapshot.kubelet_config.tried.is_empty() {
            assumed.push(
                "no kubelet configuration was passed: the defaults apply, apart from --set \
                 (--kubelet-config FILE)"
                    .to_owned(),
            );
        }
        assumed.extend(self.assumed_version());
        assumed
    }

    /// Returns the assumption about the kubelet's version; `None`: the version is known.
    pub fn assumed_version(&self) -> Option<String> {
        let version = self.kubelet.version;
        (self.kubelet.version_origin == Origin::Assumed).then(|| {
            format!("the kubelet is of version {version}, the newest that kq knows as a whole (--kubelet-version)")
        })
    }

    /// Returns true if the configuration was queried and not found, or is refused, so that defaults apply.
    pub fn lacks_config(&self) -> bool {
        self.missing_config().next().is_some()
    }

    /// Returns the warnings. An unknown configuration is a missing fact, and is not among them.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let missing: Vec<Warning> = self.missing_config().map(Warning::from).collect();
        self.notes.iter().filter(move |warning| !missing.contains(warning)).cloned()
    }

    /// Returns the reasons why defaults replace the configuration, or fields of it.
    pub fn missing_config(&self) -> impl Iterator<Item = Missing> {
        let whole = missing_config(&self.snapshot).filter(|_| !self.knows_config);
        let whole = whole.or_else(|| self.overrides.assumed_config.clone());
        whole.into_iter().chain(self.refused.iter().map(RefusedConfig::missing))
    }

    /// Returns true if no field of the configuration is known: it was queried and not found, or is refused as a whole. Where none was
    /// asked for, the defaults are an assumption of the answer.
    pub fn lacks_whole_config(&self) -> bool {
        let is_unknown = !self.knows_config && self.snapshot.kubelet_config.has_failed();
        is_unknown
            || self.overrides.assumed_config.is_some()
            || self.refused.iter().any(|it| it.fields.is_empty())
    }

    /// Returns those of [`Node::missing_config`] with which the kubelet does not start: a file that it cannot load, and
    /// what it refuses in one. Needs [`FactKey::ConfigOnDisk`](crate::fact_key::FactKey::ConfigOnDisk).
    pub fn fatal_config(&self) -> impl Iterator<Item = Missing> {
        let starts = self.refused.is_empty() && !self.on_disk.is_refused();
        self.missing_config().filter(move |_| !starts)
    }

    /// Returns what the kubelet refuses in its configuration: it does not start with it.
    pub fn refused_config(&self) -> &[RefusedConfig] {
        &self.refused
    }

    /// Returns the fields of the configuration that the kubelet refuses. Of its feature gates, the others are known.
    pub fn refused_fields(&self) -> impl Iterator<Item = &str> {
        let are_gates = |it: &&RefusedConfig| matches!(it.error, DescribeError::Gates { .. });
        let of_fields = self.refused.iter().filter(move |it| !are_gates(it));
        of_fields.flat_map(|it| &it.fields).map(String::as_str)
    }

    /// Returns what the kubelet takes of its configuration, with the defaults.
    pub fn config(&self) -> &EffectiveConfiguration {
        self.settings.as_ref().map_or(&self.kubelet.config, |settings| &settings.config)
    }

    /// Returns why the node may have pods that are not known; `None`: all are known.
    pub fn unknown_pods(&self) -> Option<Missing> {
        incomplete(&self.snapshot.pods, &self.pods(), self.snapshot.runtime.value())
    }

    /// Returns the eviction thresholds, including that of all pods' memory, which a
    /// deprecated flag of the kubelet removes.
    /// Fails where even the thresholds of the defaults do not fit the machine.
    pub fn eviction_thresholds(&self) -> Result<Vec<EvictionThreshold>, Failure> {
        eviction_thresholds(self.config(), false).map_err(|refused| Failure::usage(refused.error))
    }

    /// Returns the facts from the runtime.
    /// Fails if the runtime did not answer, because no answer is possible without it.
    pub fn runtime(&self) -> Result<&RuntimeFacts, Failure> {
        self.snapshot.runtime.value().ok_or_else(|| {
            let reason = self.snapshot.runtime.reason();
            Failure::missing(anyhow!("the container runtime did not answer: {reason}")).hint(
                "name it with --runtime-endpoint, or take a snapshot on the node and pass it with \
                 --snapshot",
            )
        })
    }

    /// Returns the images.
    /// Fails when the runtime does not list them.
    pub fn images(&self) -> Result<&[Image], Failure> {
        let images = &self.runtime()?.images;
        let listed = images.value().ok_or_else(|| {
            Failure::missing(anyhow!("the images could not be listed: {}", images.reason())).hint(
                match images.tried.is_empty() {
                    true => "the snapshot has no images: take a new one with kq snapshot",
                    false if self.runs_here => "a slow runtime may need a longer --timeout",
                    false => "take a new snapshot when the runtime answers",
                },
            )
        })?;
        Ok(listed)
    }

    /// Returns the containers.
    /// Fails when the runtime does not list them: without them, the images in use are unknown.
    pub fn containers(&self) -> Result<&[Container], Failure> {
        let containers = &self.runtime()?.containers;
        let listed = containers.value().ok_or_else(|| {
            Failure::missing(anyhow!("the containers could not be listed: {}", containers.reason()))
                .hint("without them, the images in use are unknown")
        })?;
        Ok(listed)
    }
}

/// Describes what the container manager works with, and checks the eviction thresholds.
fn settings_of(sources: NodeSources<'_>) -> Result<NodeConfig, DescribeError> {
    let settings = describe(sources)?;
    eviction_thresholds(&settings.config, false).map_err(|refused| DescribeError::Threshold {
        origin: sources.config.origins.get(refused.field).cloned(),
        refused: Box::new(refused),
    })?;
    Ok(settings)
}

/// The most warnings of a recorded configuration that answers repeat. A configuration has some 300 fields.
const MOST_NOTES: usize = 1_000;

/// Returns the configuration from the options, else the recorded one, and notes irregularities.
fn config_of(
    given: Option<GivenConfig>,
    snapshot: &Snapshot,
    notes: &mut Vec<Warning>,
) -> ConfigSource {
    if let Some(given) = given {
        notes.extend(given.warnings());
        return given.config;
    }
    let recorded = snapshot.kubelet_config.value().map_or(&[][..], |recorded| &recorded.notes);
    let (told, others) = recorded.split_at(recorded.len().min(MOST_NOTES));
    notes.extend(WarningCode::KubeletConfig.each(told));
    if !others.is_empty() {
        let text = format!("{} more warnings about the configuration", others.len());
        notes.push(Warning::new(WarningCode::KubeletConfig, text));
    }
    config_source(snapshot)
}

/// The default of `runtimeRequestTimeout`
/// (`SetDefaults_KubeletConfiguration`).
const TWO_MINUTES: GoDuration = GoDuration(120 * GoDuration::SECOND.0);

/// Returns the Node object, and where it is from.
fn object_of(snapshot: &Snapshot) -> Option<(&str, &NodeObject)> {
    let found = snapshot.node.found.as_ref()?;
    Some((found.source.as_str(), &found.value))
}

/// Returns the start time of the kubelet, and its source.
fn start_of(
    said: Option<KubeletStartOption>,
    snapshot: &Snapshot,
    now: Timestamp,
) -> Result<Option<KubeletStart>, Failure> {
    let said = said.map(|start| KubeletStart {
        at: match start {
            KubeletStartOption::At(at) => at,
            KubeletStartOption::Ago(length) => now.plus(-length.0),
        },
        source: "--kubelet-start".to_owned(),
    });
    if let Some(start) = said.as_ref().filter(|start| start.at > now) {
        let refuse = anyhow!("--kubelet-start {}: later than now, {now}", start.at);
        return Err(Failure::usage(refuse));
    }
    let of_process = || {
        let found = snapshot.kubelet.found.as_ref()?;
        let at = Timestamp::from_seconds(found.value.started_at?);
        // A machine whose clock was set back has processes from the future.
        (at <= now).then(|| KubeletStart { at, source: found.source.clone() })
    };
    Ok(said.or_else(of_process))
}

/// Adds the file and a hint to an error.
pub fn of_description(file: Option<&str>, error: DescribeError) -> Failure {
    let mut hints = Vec::new();
    match &error {
        DescribeError::Config {
            error: ConfigError::UnknownField { nearest: Some(nearest), .. },
            ..
        } => hints.push(format!("did you mean {nearest}?")),
        DescribeError::Config {
            error: ConfigError::WrongType { path, expected: A_MAP, .. },
            origin: Some(Origin::Flag("--set")),
        } => hints.push(format!("--set {path}.NAME=VALUE")),
        DescribeError::Gates { error, .. } => {
            hints.extend(error.problems.iter().filter_map(|problem| problem.hint()));
        }
        DescribeError::OverReserved(over) => {
            hints.extend(over.log_line().map(|line| format!("the kubelet logs it as: {line}")));
        }
        _ => {}
    }
    let is_whole_file = matches!(&error, DescribeError::Config { origin: None, .. });
    let file = file.filter(|_| is_whole_file);
    let failure = Failure::usage(match file {
        Some(file) => anyhow::Error::new(error).context(shown(file).to_owned()),
        None => error.into(),
    });
    hints.into_iter().fold(failure, Failure::hint)
}
