//! The fatal problems of a start: each with its facts, the kubelet's message, and the fix.

use super::flags::{LABEL_NAMESPACES, LABELS};
use kq_facts::checkpoint::StateFile;
use kq_facts::kubelet_config::{ValidationError, aggregate};
use kq_k8s::feature_gates::FeatureGateError;
use kq_k8s::go_text::quote;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

/// The stage of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The command line is read.
    Flags,
    /// The values of the flags are checked.
    FlagValues,
    /// The file of the configuration is read.
    ConfigFile,
    /// Its defaults are filled in.
    Defaults,
    /// A drop-in is read.
    DropIn,
    /// The drop-ins are merged over the file.
    DropIns,
    /// Logging begins.
    Logging,
    /// The configuration is validated.
    Validation,
    /// The kubelet is created.
    Run,
    /// Its managers are created.
    Create,
    /// The container manager starts, when the container runtime is there.
    ContainerManager,
}

impl Stage {
    /// Returns the kubelet's message as this stage wraps it.
    pub(super) fn wrap(self, text: &str) -> String {
        match self {
            Self::Flags => format!("failed to parse kubelet flag: {text}"),
            Self::FlagValues | Self::ConfigFile | Self::Defaults | Self::ContainerManager => {
                text.to_owned()
            }
            Self::DropIn | Self::DropIns => format!("failed to merge kubelet configs: {text}"),
            Self::Logging => format!("initialize logging: {text}"),
            Self::Validation => format!(
                "failed to validate kubelet configuration, error: {text}, path: \
                 &TypeMeta{{Kind:,APIVersion:,}}"
            ),
            Self::Run => format!("failed to run Kubelet: {text}"),
            Self::Create => format!("failed to run Kubelet: failed to create kubelet: {text}"),
        }
    }
}

/// How the kubelet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// It exits with the code 1.
    Error,
    /// It panics, and exits with the code 2.
    Panic,
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> i32 {
        match self {
            Self::Error => 1,
            Self::Panic => 2,
        }
    }
}

/// The problem of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CgroupProblem {
    /// Some of its folders are not there.
    MissingOnV1,
    /// Its folder is not there.
    MissingOnV2,
    /// Nothing is reserved that could be enforced there.
    NoReservation,
}

/// A file with configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigPlace {
    /// Where it is on the node.
    pub path: String,
    /// It is in the folder of `--config-dir`.
    pub is_drop_in: bool,
}

impl ConfigPlace {
    fn wrap(&self, error: &str) -> String {
        let path = &self.path;
        if self.is_drop_in {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            return format!(
                "failed to walk through kubelet dropin directory {}: failed to load kubelet dropin \
                 file, path: {path}, error: {error}",
                quote(folder)
            );
        }
        format!(
            "failed to load kubelet config file, path: {path}, error: failed to load Kubelet config \
             file {path}, error {error}"
        )
    }

    fn unreadable(&self, error: &str) -> String {
        let Self { path, is_drop_in } = self;
        self.wrap(&match is_drop_in {
            true => format!(
                "failed to read drop-in kubelet config file {}, error: {error}",
                quote(path)
            ),
            false => format!("failed to read kubelet config file {}, error: {error}", quote(path)),
        })
    }

    fn undecodable(&self, error: &str) -> String {
        match self.is_drop_in {
            true => self.wrap(error),
            false => self.wrap(&format!("failed to decode: {error}")),
        }
    }
}

fn text<S: Serializer>(error: &FeatureGateError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

fn texts<S: Serializer>(errors: &[ValidationError], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(errors.iter().map(ToString::to_string))
}

/// A fatal problem.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StartRule {
    /// A flag that this version does not have.
    UnknownFlag {
        /// Its name without dashes.
        flag: String,
        /// The last known minor version that has it.
        until: Option<u32>,
    },
    /// A flag with a value of the wrong type.
    FlagValue { flag: String, value: String, reason: String },
    /// Invalid feature gates.
    Gates {
        gates: Vec<String>,
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        error: FeatureGateError,
    },
    /// Labels of `--node-labels` that a kubelet must not set.
    UnknownLabels { labels: Vec<String> },
    /// Labels of `--node-labels` that are none: the key or the value.
    InvalidLabels { texts: Vec<String> },
    /// The file does not exist.
    NoConfigFile { place: ConfigPlace },
    /// The file is empty.
    EmptyConfigFile { place: ConfigPlace },
    /// The file is not an object.
    NotAnObject { place: ConfigPlace, error: String },
    /// The file lacks its kind or version.
    NoType {
        place: ConfigPlace,
        /// `Kind` or `apiVersion`.
        field: &'static str,
        /// The text of the file, where it is known.
        body: Option<String>,
    },
    /// It is of another kind or version.
    OtherType { place: ConfigPlace, kind: String, api_version: String },
    /// A field has a value of another type.
    FieldType { place: ConfigPlace, field: String, error: String },
    /// A drop-in has a value of another type.
    MergedType { field: String, error: String },
    /// Invalid feature gates of a file.
    GatesInFile {
        path: String,
        gates: Vec<String>,
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        error: FeatureGateError,
    },
    /// Logging cannot be set up.
    Logging { errors: Vec<String> },
    /// The configuration breaks rules.
    Invalid {
        /// The kubelet's words for each.
        #[serde(serialize_with = "texts")]
        #[schemars(with = "Vec<String>")]
        errors: Vec<ValidationError>,
    },
    /// A setting that is rejected while the kubelet is created.
    Setting {
        /// The field of the configuration.
        field: String,
        error: String,
    },
    /// The machine has swap.
    SwapOn { bytes: i64 },
    /// A cgroup is not there.
    NoCgroup {
        /// The field of the configuration that names it.
        field: &'static str,
        /// What the kubelet needs it for.
        what: &'static str,
        cgroup: String,
        /// Its parts as the kubelet names them.
        names: Vec<String>,
        /// The missing part.
        paths: Vec<String>,
        problem: CgroupProblem,
    },
    /// The reservation exceeds the capacity.
    OverReserved { resources: Vec<String>, error: String },
    /// An invalid state file.
    StateFile {
        file: StateFile,
        path: String,
        error: String,
        /// It panics.
        panics: bool,
    },
}

impl StartRule {
    /// Returns the kubelet's message, without the wrapping of the stage.
    pub fn text(&self) -> String {
        match self {
            Self::UnknownFlag { flag, .. } => format!("unknown flag: --{flag}"),
            Self::FlagValue { flag, value, reason } => {
                format!("invalid argument {} for \"--{flag}\" flag: {reason}", quote(value))
            }
            Self::Gates { error, .. } => {
                format!("failed to set feature gates from initial flags-based config: {error}")
            }
            Self::UnknownLabels { labels } => format!(
                "failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified \
                 with --node-labels: [{}]\n--node-labels in the 'kubernetes.io' namespace must begin with \
                 an allowed prefix ({}) or be in the specifically allowed set ({})",
                labels.join(" "),
                LABEL_NAMESPACES.join(", "),
                LABELS.join(", ")
            ),
            Self::InvalidLabels { texts } => {
                format!(
                    "failed to validate kubelet flags: invalid node labels: '{}'",
                    texts.join("'; '")
                )
            }
            Self::NoConfigFile { place } => {
                let error = format!("open {}: no such file or directory", place.path);
                place.unreadable(&error)
            }
            Self::EmptyConfigFile { place } => {
                place.wrap(&format!("kubelet config file {} was empty", quote(&place.path)))
            }
            Self::NotAnObject { place, error } | Self::FieldType { place, error, .. } => {
                place.undecodable(error)
            }
            Self::NoType { place, field, body } => {
                let body = body.as_deref().unwrap_or("...");
                place.undecodable(&format!("Object '{field}' is missing in '{body}'"))
            }
            Self::OtherType { place, kind, api_version } if place.is_drop_in => {
                let group_version = if api_version.is_empty() { "/" } else { api_version };
                let folder = place.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                format!(
                    "failed to walk through kubelet dropin directory {}: failed to load kubelet dropin \
                     file, path: {}, unknown apiVersion/kind: {group_version}, Kind={kind}",
                    quote(folder),
                    place.path
                )
            }
            Self::OtherType { place, kind, api_version } => place.undecodable(&format!(
                "no kind {} is registered for version {}",
                quote(kind),
                quote(api_version)
            )),
            Self::MergedType { error, .. } => {
                format!("failed to unmarshal merged JSON into kubelet configuration: {error}")
            }
            Self::GatesInFile { error, .. } => format!(
                "panic: failed to merge global and in-flight KubeletConfiguration while setting \
                 defaults, error: {error}"
            ),
            Self::Logging { errors } => one_or_list(errors),
            Self::Invalid { errors } => aggregate(errors),
            Self::Setting { error, .. } | Self::OverReserved { error, .. } => error.clone(),
            Self::SwapOn { .. } => {
                "running with swap on is not supported, please disable swap or set \
                                    --fail-swap-on flag to false"
                    .to_owned()
            }
            Self::NoCgroup { what, cgroup, names, paths, problem, .. } => {
                no_cgroup(what, cgroup, names, paths, *problem)
            }
            Self::StateFile { error, panics: true, .. } => format!("panic: {error}"),
            Self::StateFile { error, .. } => error.clone(),
        }
    }

    /// Returns how the kubelet ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::GatesInFile { .. } | Self::StateFile { panics: true, .. } => Exit::Panic,
            _ => Exit::Error,
        }
    }

    /// Returns the fix; `None`: the kubelet's message already contains it.
    pub fn fix(&self) -> Option<Fix> {
        Some(match self {
            Self::UnknownFlag { flag, .. } => Fix::RemoveFlag { flag: flag.clone() },
            Self::FlagValue { flag, .. } => Fix::CorrectFlag { flag: flag.clone() },
            Self::UnknownLabels { .. } | Self::InvalidLabels { .. } => {
                Fix::CorrectFlag { flag: "node-labels".to_owned() }
            }
            Self::Gates { gates, .. } | Self::GatesInFile { gates, .. } => {
                Fix::RemoveGates { gates: gates.clone() }
            }
            Self::NoConfigFile { place }
            | Self::EmptyConfigFile { place }
            | Self::NotAnObject { place, .. }
            | Self::OtherType { place, .. }
            | Self::NoType { place, .. } => Fix::WriteConfig { path: place.path.clone() },
            Self::FieldType { field, .. }
            | Self::MergedType { field, .. }
            | Self::Setting { field, .. } => Fix::CorrectField { field: field.clone() },
            Self::Logging { .. } => Fix::CorrectField { field: "logging".to_owned() },
            Self::Invalid { errors } => {
                let refuses_v1 = |error: &ValidationError| {
                    let v1 = [
                        ValidationError::CgroupV1Maintenance,
                        ValidationError::CgroupV1Unsupported,
                    ];
                    v1.contains(error)
                };
                if !errors.iter().any(refuses_v1) {
                    return None;
                }
                Fix::SetField { field: "failCgroupV1", value: "false" }
            }
            Self::SwapOn { .. } => Fix::SetField { field: "failSwapOn", value: "false" },
            Self::NoCgroup { problem: CgroupProblem::NoReservation, .. } => {
                Fix::CorrectField { field: "enforceNodeAllocatable".to_owned() }
            }
            Self::NoCgroup { field, cgroup, .. } => {
                Fix::MakeCgroup { field, cgroup: cgroup.clone() }
            }
            Self::OverReserved { resources, .. } => {
                Fix::ReserveLess { resources: resources.clone() }
            }
            Self::StateFile { path, .. } => Fix::DeleteFile { path: path.clone() },
        })
    }

    /// Returns the file and the function of the kubelet.
    pub fn source(&self) -> &'static str {
        match self {
            Self::UnknownFlag { .. } | Self::FlagValue { .. } | Self::Gates { .. } => {
                "cmd/kubelet/app/server.go NewKubeletCommand"
            }
            Self::UnknownLabels { .. } | Self::InvalidLabels { .. } => {
                "cmd/kubelet/app/options/options.go ValidateKubeletFlags"
            }
            Self::NoConfigFile { .. } | Self::EmptyConfigFile { .. } => {
                "pkg/kubelet/kubeletconfig/configfiles/configfiles.go Load"
            }
            Self::NotAnObject { .. }
            | Self::NoType { .. }
            | Self::OtherType { .. }
            | Self::FieldType { .. } => {
                "pkg/kubelet/kubeletconfig/util/codec/codec.go DecodeKubeletConfiguration"
            }
            Self::MergedType { .. } => "cmd/kubelet/app/server.go mergeKubeletConfigurations",
            Self::GatesInFile { .. } => {
                "pkg/kubelet/apis/config/v1beta1/defaults.go SetDefaults_KubeletConfiguration"
            }
            Self::Logging { .. } => {
                "staging/src/k8s.io/component-base/logs/api/v1/options.go Validate"
            }
            Self::Invalid { .. } => {
                "pkg/kubelet/apis/config/validation/validation.go ValidateKubeletConfiguration"
            }
            Self::Setting { .. } => "cmd/kubelet/app/server.go run",
            Self::SwapOn { .. } => "pkg/kubelet/cm/container_manager_linux.go NewContainerManager",
            Self::NoCgroup { .. } => "pkg/kubelet/cm/cgroup_manager_linux.go Validate",
            Self::OverReserved { .. } => {
                "pkg/kubelet/cm/node_container_manager_linux.go validateNodeAllocatable"
            }
            Self::StateFile { file, .. } => match file {
                StateFile::Cpu => "pkg/kubelet/cm/cpumanager/cpu_manager.go Start",
                StateFile::Memory => "pkg/kubelet/cm/memorymanager/memory_manager.go Start",
                StateFile::Dra => "pkg/kubelet/cm/dra/claiminfo.go newClaimInfoCache",
                StateFile::ActuatedPods => {
                    "pkg/kubelet/kuberuntime/kuberuntime_manager.go NewKubeGenericRuntimeManager"
                }
                _ => "pkg/kubelet/allocation/allocation_manager.go newStateImpl",
            },
        }
    }
}

fn one_or_list(errors: &[String]) -> String {
    match errors {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn no_cgroup(
    what: &str,
    cgroup: &str,
    names: &[String],
    paths: &[String],
    problem: CgroupProblem,
) -> String {
    let name = names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
    let paths = paths.join(", ");
    let problem = match problem {
        CgroupProblem::MissingOnV1 => format!("cgroup [{name}] has some missing paths: {paths}"),
        CgroupProblem::MissingOnV2 => format!(
            "could not read controllers for cgroup [{name}]: open {paths}/cgroup.controllers: no such \
             file or directory"
        ),
        CgroupProblem::NoReservation => format!("[{name}] cgroup is not configured properly"),
    };
    match what {
        "" => format!("invalid configuration: {problem}"),
        what => format!("Failed to enforce {what} Cgroup Limits on {}: {problem}", quote(cgroup)),
    }
}

/// The fix of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fix {
    /// Start without a flag.
    RemoveFlag { flag: String },
    /// Change the value of a flag.
    CorrectFlag { flag: String },
    /// Leave feature gates at their defaults.
    RemoveGates { gates: Vec<String> },
    /// Write a valid file.
    WriteConfig { path: String },
    /// Change the value of a field.
    CorrectField { field: String },
    /// Set a field to this value.
    SetField { field: &'static str, value: &'static str },
    /// Create the cgroup that a field names.
    MakeCgroup { field: &'static str, cgroup: String },
    /// Reserve less.
    ReserveLess { resources: Vec<String> },
    /// Delete a state file, after the node was drained.
    DeleteFile { path: String },
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemoveFlag { flag } => write!(f, "remove --{flag} from the command line"),
            Self::CorrectFlag { flag } => write!(f, "correct the value of --{flag}"),
            Self::RemoveGates { gates } => {
                write!(f, "remove {} from the feature gates", gates.join(", "))
            }
            Self::WriteConfig { path } => {
                write!(f, "write a KubeletConfiguration of kubelet.config.k8s.io/v1beta1 to {path}")
            }
            Self::CorrectField { field } => write!(f, "correct {field}"),
            Self::SetField { field, value } => write!(f, "set {field}: {value}"),
            Self::MakeCgroup { field, cgroup } => {
                write!(f, "create the cgroup {cgroup}, or correct {field}")
            }
            Self::ReserveLess { resources } => write!(f, "reserve less {}", resources.join(", ")),
            Self::DeleteFile { path } => write!(f, "drain the node and delete {path}"),
        }
    }
}
