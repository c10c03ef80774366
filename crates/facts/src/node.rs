//! The kubelet of a gathered node: its configuration, its rules, its start, and the names of its pods.

use crate::describe::{ConfigSource, DescribeError};
use crate::input_name::shown;
use crate::kubelet::{Kubelet, KubeletSources, KubeletStart, describe_kubelet};
use crate::kubelet_config::{
    A_MAP, ConfigError, EvictionThreshold, RefusedEntry, eviction_thresholds,
};
use crate::live::{adopt_uid, config_source, incomplete, missing_config, unknown_facts};
use crate::redaction::forget_secrets;
use crate::runtime::{Container, Image, RuntimeFacts};
use crate::settings::{assign, assign_gates};
use crate::snapshot::{RecordedConfig, Snapshot};
use crate::timestamp::Timestamp;
use crate::workloads::Workloads;
use anyhow::{Context, anyhow};
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_answer::{Failure, Missing};
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::parse_flag;
use kq_k8s::pod::Pod;
use kq_k8s::version::KubeletVersion;
use serde_json::Value;
use std::sync::Arc;

/// Options that override the facts about the kubelet.
#[derive(Clone, Debug, Default)]
pub struct KubeletOptions {
    /// Its configuration, from files.
    pub config: Option<GivenConfig>,
    /// The file of it, for messages.
    pub config_file: Option<String>,
    /// Single facts.
    pub flags: KubeletFlags,
    /// When it started; `None`: as its process says.
    pub start: Option<KubeletStartOption>,
}

/// Single facts about the kubelet. They win over its configuration.
#[derive(Clone, Debug, Default)]
pub struct KubeletFlags {
    /// Its version.
    pub version: Option<KubeletVersion>,
    /// Feature gates: `A=true,B=false`.
    pub feature_gates: Option<String>,
    /// Fields of the configuration: `FIELD=VALUE`.
    pub set: Vec<String>,
}

/// The kubelet's configuration from files that were named.
#[derive(Clone, Debug, Default)]
pub struct GivenConfig {
    /// The configuration.
    pub config: ConfigSource,
    /// Irregularities in it.
    pub notes: Vec<String>,
}

impl GivenConfig {
    /// Returns the irregularities as warnings.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        WarningCode::KubeletConfig.each(&self.notes)
    }

    /// Returns the configuration as a snapshot has it, without secrets.
    pub fn to_recorded(&self) -> RecordedConfig {
        let mut value = self.config.value.clone();
        forget_secrets(Arc::make_mut(&mut value));
        let origins = self.config.origins.iter();
        RecordedConfig {
            value,
            read_as: self.config.source,
            origins: origins.map(|(field, origin)| (field.clone(), origin.to_string())).collect(),
            notes: self.notes.clone(),
        }
    }
}

/// The most warnings of a recorded configuration that answers repeat. A configuration has some 300 fields.
const MOST_NOTES: usize = 1_000;

/// Returns the configuration from the options, else the recorded one, and notes irregularities.
pub fn config_of(
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

/// A time, or how long ago.
#[derive(Clone, Copy, Debug)]
pub enum KubeletStartOption {
    /// A time.
    At(Timestamp),
    /// How long ago.
    Ago(GoDuration),
}

/// The default of `runtimeRequestTimeout`
/// (`SetDefaults_KubeletConfiguration`).
const TWO_MINUTES: GoDuration = GoDuration(120 * GoDuration::SECOND.0);

/// The facts of a node and its kubelet.
#[derive(Clone, Debug)]
pub struct Node {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// It is this machine, or the one that this is a container of.
    pub runs_here: bool,
    /// The kubelet.
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
    /// Unknown facts and irregularities.
    pub notes: Vec<Warning>,
}

impl KubeletFlags {
    /// Applies the flags to the configuration.
    pub fn set_fields(&self, config: &mut ConfigSource) -> Result<(), Failure> {
        for assignment in &self.set {
            let named = assignment.split_once('=').filter(|(field, _)| !field.is_empty());
            let (field, value) = named.ok_or_else(|| {
                Failure::usage(anyhow!("--set {assignment}: expected FIELD=VALUE"))
            })?;
            assign(config, field, value, Origin::Flag("--set"))
                .with_context(|| format!("--set {assignment}: the value is not YAML"))
                .map_err(Failure::usage)?;
        }
        if let Some(text) = &self.feature_gates {
            let gates = parse_flag(text)
                .with_context(|| format!("--feature-gates {text}"))
                .map_err(Failure::usage)?;
            assign_gates(config, gates, &Origin::Flag("--feature-gates"));
        }
        Ok(())
    }
}

impl KubeletOptions {
    /// Returns true if the options set anything besides the start of the kubelet.
    pub fn is_any_given(&self) -> bool {
        let KubeletFlags { version, feature_gates, set } = &self.flags;
        self.config.is_some() || version.is_some() || feature_gates.is_some() || !set.is_empty()
    }

    /// Returns the start time of the kubelet, and its source.
    fn start(&self, snapshot: &Snapshot, now: Timestamp) -> Result<Option<KubeletStart>, Failure> {
        let said = self.start.map(|start| KubeletStart {
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
}

impl Node {
    /// Describes the kubelet from gathered facts. A configuration that the answer does not depend on is not missing.
    ///
    /// # Errors
    ///
    /// Fails on a configuration that the kubelet would not read, and on a time that is not one.
    pub fn describe(
        mut snapshot: Snapshot,
        options: &KubeletOptions,
        needs_config: bool,
    ) -> Result<Self, Failure> {
        let given = options.config.clone();
        let knows_config = given.is_some() || snapshot.kubelet_config.found.is_some();
        let mut notes = unknown_facts(&snapshot, given.is_some() || !needs_config);
        let mut config = config_of(given, &snapshot, &mut notes);
        options.flags.set_fields(&mut config)?;
        let patience = config.value.get("runtimeRequestTimeout").and_then(Value::as_str);
        let patience = patience.and_then(|text| text.parse::<GoDuration>().ok());
        let object = snapshot.node.found.clone().map(|found| (found.source, found.value));
        let program = snapshot.kubelet_version.found.clone();
        let program = program.map(|found| (found.value, found.source));
        let kubelet = describe_kubelet(KubeletSources {
            config: &config,
            version: options.flags.version,
            object: object.as_ref(),
            program: program.as_ref(),
        })
        .map_err(|error| of_description(options.config_file.as_deref(), error))?;
        notes.extend(kubelet.warnings.iter().cloned());
        let now: Timestamp = snapshot.taken_at.parse().map_err(|error| {
            Failure::usage(error).hint("takenAt of the snapshot is the time of all its facts")
        })?;
        let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
        let workloads = Workloads::of(pods.map(|loaded| &loaded.pod), snapshot.runtime.value());
        // A manifest of the kubelet's folder has no UID; the runtime's containers with its name have one.
        for loaded in snapshot.pods.found.iter_mut().flat_map(|found| &mut found.value.pods) {
            adopt_uid(&mut loaded.pod, &workloads);
        }
        let kubelet_start = options.start(&snapshot, now)?;
        Ok(Node {
            kubelet_start,
            snapshot,
            runs_here: false,
            kubelet,
            now,
            runtime_request_timeout: patience.filter(|it| it.0 > 0).unwrap_or(TWO_MINUTES),
            workloads,
            knows_config,
            notes,
        })
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
        if self.kubelet.version_origin == Origin::Assumed {
            let version = self.kubelet.version;
            assumed.push(format!(
                "the kubelet is of version {version}, the newest that kq knows (--kubelet-version)"
            ));
        }
        assumed
    }

    /// Returns true if the configuration was queried and not found, so that the defaults apply.
    pub fn lacks_config(&self) -> bool {
        !self.knows_config && !self.snapshot.kubelet_config.tried.is_empty()
    }

    /// Returns the warnings. An unknown configuration is a missing fact, and is not among them.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let missing = self.missing_config();
        self.notes
            .iter()
            .filter(move |warning| missing.as_ref().is_none_or(|it| it.text != warning.text))
            .cloned()
    }

    /// Returns the reason why the defaults replace the configuration.
    pub fn missing_config(&self) -> Option<Missing> {
        missing_config(&self.snapshot).filter(|_| self.lacks_config())
    }

    /// Returns why the node may have pods that are not known; `None`: all are known.
    pub fn unknown_pods(&self) -> Option<Missing> {
        incomplete(&self.snapshot.pods, &self.pods(), self.snapshot.runtime.value())
    }

    /// Returns the eviction thresholds, including that of all pods' memory, which a
    /// deprecated flag of the kubelet removes.
    ///
    /// # Errors
    ///
    /// Fails on thresholds with which the kubelet would not start.
    pub fn eviction_thresholds(&self) -> Result<Vec<EvictionThreshold>, Failure> {
        eviction_thresholds(&self.kubelet.config, false).map_err(|refused| {
            let RefusedEntry { field, signal, text, error } = refused;
            let origin = self.kubelet.origin(field);
            Failure::usage(anyhow!(
                "{origin}: the kubelet would not start with {field}.{signal} {text:?}: {error}"
            ))
            .hint("kq gc lint checks all thresholds")
        })
    }

    /// Returns the facts from the runtime.
    ///
    /// # Errors
    ///
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
    ///
    /// # Errors
    ///
    /// Fails when the runtime does not list them.
    pub fn images(&self) -> Result<&[Image], Failure> {
        let images = &self.runtime()?.images;
        let listed = images.value().ok_or_else(|| {
            Failure::missing(anyhow!("the images could not be listed: {}", images.reason())).hint(
                match images.tried.is_empty() {
                    true => "the snapshot has no images: take a new one with kq snapshot",
                    false => "a slow runtime may need a longer --timeout",
                },
            )
        })?;
        Ok(listed)
    }

    /// Returns the containers.
    ///
    /// # Errors
    ///
    /// Fails when the runtime does not list them: without them, the images in use are unknown.
    pub fn containers(&self) -> Result<&[Container], Failure> {
        let containers = &self.runtime()?.containers;
        let listed = containers.value().ok_or_else(|| {
            Failure::missing(anyhow!("the containers could not be listed: {}", containers.reason()))
                .hint("without them, the images in use are unknown")
        })?;
        Ok(listed)
    }

    /// Returns the pods.
    pub fn pods(&self) -> Vec<&Pod> {
        let recorded = self.snapshot.pods.value().into_iter();
        recorded.flat_map(|recorded| &recorded.pods).map(|loaded| &loaded.pod).collect()
    }
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
            error: ConfigError::WrongType { path, value, expected: A_MAP },
            origin: Some(Origin::Flag("--set")),
        } => hints.push(entries_hint(path, value)),
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

/// Returns how to set entries of a map, for a value such as `memory.available=10Gi,pid.available=5%`.
fn entries_hint(field: &str, value: &str) -> String {
    let text: String = serde_json::from_str(value).unwrap_or_default();
    let entry = |entry: &str| {
        let (name, value) = entry.split_once(['=', '<'])?;
        Some(format!("--set {field}.{}={}", name.trim(), value.trim()))
    };
    let entries: Option<Vec<String>> = text.split(',').map(entry).collect();
    match entries {
        Some(entries) => entries.join(" "),
        None => format!("--set {field}.NAME=VALUE"),
    }
}
