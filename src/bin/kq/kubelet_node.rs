//! A node without its cgroups: the kubelet and its rules, the runtime with its images and containers, the
//! names of pods.

use crate::exit::Failure;
use crate::node_args::{ConfigArgs, GivenConfig, RootArgs, RulesArgs, config_of};
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq::edge::clock::now;
use kq::facts::kubelet::{Kubelet, KubeletSources, KubeletStart, describe_kubelet};
use kq::facts::kubelet_config::{EvictionThreshold, RefusedEntry, eviction_thresholds};
use kq::facts::live::{adopt_uid, incomplete, missing, missing_config};
use kq::facts::origin::Origin;
use kq::facts::runtime::{Container, Image, RuntimeFacts};
use kq::facts::snapshot::Snapshot;
use kq::facts::timestamp::Timestamp;
use kq::facts::workloads::Workloads;
use kq::image_gc::policy::ImageGcPolicy;
use kq::k8s::duration::GoDuration;
use kq::k8s::pod::Pod;
use kq::node::Wants;
use serde_json::Value;

/// The flags that say which node it is about, and by which rules its kubelet goes.
#[derive(Debug, clap::Args)]
pub struct KubeletNodeArgs {
    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    rules: RulesArgs,

    /// When the kubelet started: a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h;
    /// else that of its process
    #[arg(long, value_name = "TIME", value_parser = parse_start, help_heading = "The node")]
    kubelet_start: Option<Start>,
}

/// A time, or how long ago.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// A time.
    At(Timestamp),
    /// How long ago.
    Ago(GoDuration),
}

/// What the kubelet takes for `runtimeRequestTimeout` where nobody says otherwise
/// (`SetDefaults_KubeletConfiguration`).
const TWO_MINUTES: GoDuration = GoDuration(120 * GoDuration::SECOND.0);

/// What was found out about a node.
pub struct KubeletNode {
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
    /// The configuration of the kubelet could be had; else it is the default one.
    pub knows_config: bool,
    /// What could not be had, or is odd.
    pub notes: Vec<String>,
}

impl KubeletNodeArgs {
    /// Gathers what is wanted and describes the kubelet. One that would not start with its
    /// configuration is described as well.
    pub fn gather(&self, wants: Wants) -> Result<KubeletNode, Failure> {
        self.gather_with(wants, |_| {})
    }

    /// Gathers what is wanted, puts what else was given over it, and describes the kubelet.
    pub fn gather_with(
        &self,
        wants: Wants,
        put_given: impl FnOnce(&mut Snapshot),
    ) -> Result<KubeletNode, Failure> {
        let given = self.config.given_config()?;
        let root = RootArgs::from(self.config.clone());
        let value = given.as_ref().map(|given| &given.config.value);
        let mut snapshot = gather(&self.sources, &root, value, wants)?;
        put_given(&mut snapshot);
        let question = self.sources.node_in_question(wants.files, wants.only_on_node);
        let described = self.describe(snapshot, given, wants.kubelet_config)?;
        let runs_here = self.sources.snapshot.is_none() && question.runs_here();
        Ok(KubeletNode { runs_here, ..described })
    }

    /// Describes the kubelet of what the flags say alone; the node is not looked at.
    pub fn of_flags(&self) -> Result<KubeletNode, Failure> {
        let given = self.config.given_config()?;
        self.describe(Snapshot { taken_at: now(), ..Snapshot::default() }, given, true)
    }

    /// Tells whether a flag says the kubelet's version.
    pub fn knows_version(&self) -> bool {
        self.rules.kubelet_version.is_some()
    }

    /// Tells whether the kubelet's configuration is given.
    pub fn is_config_given(&self) -> bool {
        self.config.is_given()
    }

    /// Tells whether a flag says anything of the kubelet.
    pub fn is_told(&self) -> bool {
        self.config.is_given() || self.rules.is_any_given()
    }

    /// Returns a function that describes the kubelet of what was gathered elsewhere, by the flags alone.
    pub fn of_nodes(&self) -> Result<impl Fn(Snapshot) -> Result<KubeletNode, Failure>, Failure> {
        let given = self.config.given_config()?;
        Ok(move |snapshot| self.describe(snapshot, given.clone(), false))
    }

    /// Describes the kubelet of what was gathered. A configuration that decides nothing is not missed.
    fn describe(
        &self,
        mut snapshot: Snapshot,
        given: Option<GivenConfig>,
        needs_config: bool,
    ) -> Result<KubeletNode, Failure> {
        let knows_config = given.is_some() || snapshot.kubelet_config.found.is_some();
        let mut notes = missing(&snapshot, given.is_some() || !needs_config);
        let mut config = config_of(given, &snapshot, &mut notes);
        self.rules.set_fields(&mut config)?;
        let patience = config.value.get("runtimeRequestTimeout").and_then(Value::as_str);
        let patience = patience.and_then(|text| text.parse::<GoDuration>().ok());
        let object = snapshot.node.found.clone().map(|found| (found.source, found.value));
        let program = snapshot.kubelet_version.found.clone();
        let program = program.map(|found| (found.value, found.source));
        let kubelet = describe_kubelet(KubeletSources {
            config: &config,
            version: self.rules.kubelet_version,
            object: object.as_ref(),
            program: program.as_ref(),
        })
        .map_err(|error| self.config.of_description(error))?;
        notes.extend(kubelet.warnings.iter().cloned());
        let now: Timestamp = snapshot.taken_at.parse().map_err(|error| {
            Failure::usage(error).hint("takenAt of the snapshot says when everything was so")
        })?;
        let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
        let workloads = Workloads::of(pods.map(|loaded| &loaded.pod), snapshot.runtime.value());
        // A manifest of the kubelet's folder has no UID; what the runtime runs under its name has.
        for loaded in snapshot.pods.found.iter_mut().flat_map(|found| &mut found.value.pods) {
            adopt_uid(&mut loaded.pod, &workloads);
        }
        let kubelet_start = self.start(&snapshot, now)?;
        Ok(KubeletNode {
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

    /// Returns when the kubelet started, and who says so.
    fn start(&self, snapshot: &Snapshot, now: Timestamp) -> Result<Option<KubeletStart>, Failure> {
        let said = self.kubelet_start.map(|start| KubeletStart {
            at: match start {
                Start::At(at) => at,
                Start::Ago(length) => now.plus(-length.0),
            },
            source: "--kubelet-start".to_owned(),
        });
        if let Some(start) = said.as_ref().filter(|start| start.at > now) {
            let refuse = anyhow!("--kubelet-start {}: that is after now, {now}", start.at);
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

impl KubeletNode {
    /// Returns what is odd, without what could not be had: for answers that tell that themselves.
    pub fn odd(&self) -> impl Iterator<Item = &String> {
        let missing: Vec<String> =
            [true, false].into_iter().flat_map(|given| missing(&self.snapshot, given)).collect();
        self.notes.iter().filter(move |text| !missing.contains(text))
    }

    /// Returns what of the kubelet nobody said: its version and configuration.
    pub fn assumed(&self) -> Vec<String> {
        let mut assumed = Vec::new();
        if !self.knows_config && self.snapshot.kubelet_config.tried.is_empty() {
            assumed.push(
                "the kubelet's configuration is the default one, apart from --set: none was given \
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

    /// Returns true if the configuration was looked for and not found, so that the defaults stand in.
    pub fn lacks_config(&self) -> bool {
        !self.knows_config && !self.snapshot.kubelet_config.tried.is_empty()
    }

    /// Returns the warnings. An unknown configuration is a missing fact, and is not among them.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let missing = self.missing_config();
        self.notes.iter().filter(move |text| missing.as_ref() != Some(text)).cloned()
    }

    /// Returns the reason why the defaults stand in for the configuration.
    pub fn missing_config(&self) -> Option<String> {
        missing_config(&self.snapshot).filter(|_| self.lacks_config())
    }

    /// Returns why pods may exist on the node that are not among the known ones; `None`: all are known.
    pub fn unknown_pods(&self) -> Option<String> {
        incomplete(&self.snapshot.pods, &self.pods(), self.snapshot.runtime.value())
    }

    /// Returns the policy of image garbage collection.
    pub fn policy(&self) -> ImageGcPolicy {
        ImageGcPolicy::of(&self.kubelet.config)
    }

    /// Returns the thresholds of eviction, those of the pods' memory as a whole with them, which a
    /// deprecated flag of the kubelet takes out.
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
            .hint("kq gc lint looks at all thresholds")
        })
    }

    /// Returns what the runtime said.
    ///
    /// # Errors
    ///
    /// Fails when it could not be asked: then there is no answer.
    pub fn runtime(&self) -> Result<&RuntimeFacts, Failure> {
        self.snapshot.runtime.value().ok_or_else(|| {
            let reason = self.snapshot.runtime.reason();
            Failure::missing(anyhow!("the container runtime could not be asked: {reason}")).hint(
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
                    true => "the snapshot has none: take a new one with kq snapshot",
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
    /// Fails when the runtime does not list them: then nobody knows which images are in use.
    pub fn containers(&self) -> Result<&[Container], Failure> {
        let containers = &self.runtime()?.containers;
        let listed = containers.value().ok_or_else(|| {
            Failure::missing(anyhow!("the containers could not be listed: {}", containers.reason()))
                .hint("without them nobody knows which images are in use")
        })?;
        Ok(listed)
    }

    /// Returns the pods.
    pub fn pods(&self) -> Vec<&Pod> {
        let recorded = self.snapshot.pods.value().into_iter();
        recorded.flat_map(|recorded| &recorded.pods).map(|loaded| &loaded.pod).collect()
    }
}

fn parse_start(text: &str) -> Result<Start, String> {
    if let Ok(at) = text.parse() {
        return Ok(Start::At(at));
    }
    match text.parse::<GoDuration>() {
        Ok(length) if length.0 >= 0 => Ok(Start::Ago(length)),
        _ => {
            Err("expected a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h"
                .to_owned())
        }
    }
}
