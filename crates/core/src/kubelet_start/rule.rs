//! The fatal problems of a start: each with its facts, the kubelet's message, and the fix.

use super::flags::{LABEL_NAMESPACES, LABELS};
use super::place::ConfigPlace;
use kq_answer::reason::Reason;
use kq_facts::checkpoint::StateFile;
use kq_facts::kubelet_config::{ValidationError, aggregate, unregistered};
use kq_k8s::feature_gates::{FeatureGateError, FeatureGateProblem};
use kq_k8s::go_text::{self, quote};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The stage of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// systemd starts the unit.
    Unit,
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
    /// What the kubelet needs is made, such as the TLS options of its server.
    Dependencies,
    /// The kubelet is created.
    Run,
    /// Its managers are created.
    Create,
    /// The container manager starts, when the container runtime is there.
    ContainerManager,
    /// The plugins for credentials of images are registered, while its managers are created.
    CredentialProviders,
    /// Its servers begin to listen, each in a thread of its own.
    Servers,
}

impl Stage {
    /// Returns the kubelet's message as this stage wraps it.
    pub(super) fn wrap(self, text: &str) -> String {
        match self {
            Self::Flags => format!("failed to parse kubelet flag: {text}"),
            Self::Unit
            | Self::FlagValues
            | Self::ConfigFile
            | Self::Defaults
            | Self::ContainerManager
            | Self::CredentialProviders => text.to_owned(),
            Self::Dependencies => format!("failed to construct kubelet dependencies: {text}"),
            Self::DropIn | Self::DropIns => format!("failed to merge kubelet configs: {text}"),
            Self::Logging => format!("initialize logging: {text}"),
            Self::Validation => format!(
                "failed to validate kubelet configuration, error: {text}, path: \
                 &TypeMeta{{Kind:,APIVersion:,}}"
            ),
            Self::Servers => format!("\"Failed to listen and serve\" err={}", quote(text)),
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
    /// It has printed what it was asked for, and exits with the code 0.
    Done,
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> i32 {
        match self {
            Self::Error => 1,
            Self::Panic => 2,
            Self::Done => 0,
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

fn text<S: Serializer>(error: &FeatureGateError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

fn texts<S: Serializer>(errors: &[ValidationError], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(errors.iter().map(ToString::to_string))
}

/// A fatal problem.
#[derive(Clone, Debug, PartialEq, Reason)]
#[reason(tag = "id", case = "kebab-case")]
pub enum StartRule {
    /// systemd starts no unit that is masked.
    #[text("Unit {unit} is masked.")]
    MaskedUnit {
        unit: &'static str,
        /// The file that masks it: empty, or a link to `/dev/null`.
        path: String,
    },
    /// A flag that this version does not have.
    #[text("unknown flag: --{flag}")]
    UnknownFlag {
        /// Its name without dashes.
        flag: String,
        /// The last known minor version that has it.
        until: Option<u32>,
    },
    /// An argument that cannot be parsed.
    #[text("{error}")]
    BadArgument { error: String },
    /// A word that is not a flag.
    #[text("unknown command {word}")]
    UnknownCommand { word: String },
    /// A flag with which the kubelet prints something, and does nothing else.
    #[text("--{flag}: it prints its {what}, and ends with code 0", what = if flag == "help" { "usage" } else { flag.as_str() })]
    PrintsAlone { flag: String },
    /// A flag with a value of the wrong type.
    #[text("invalid argument {value:%q} for \"--{flag}\" flag: {reason}")]
    FlagValue { flag: String, value: String, reason: String },
    /// Invalid feature gates.
    #[text("failed to set feature gates from initial flags-based config: {error}")]
    Gates {
        gates: Vec<String>,
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        error: FeatureGateError,
    },
    /// Labels of `--node-labels` that a kubelet must not set.
    #[text(
        "failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: \
         {labels:%v}\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix ({prefixes}) or \
         be in the specifically allowed set ({allowed})",
        prefixes = LABEL_NAMESPACES.join(", "),
        allowed = LABELS.join(", ")
    )]
    UnknownLabels { labels: Vec<String> },
    /// Labels of `--node-labels` that are none: the key or the value.
    #[text(
        "failed to validate kubelet flags: invalid node labels: {texts}",
        texts = texts.join("; ")
    )]
    InvalidLabels { texts: Vec<String> },
    /// The file does not exist.
    #[text(
        "{said}",
        said = place.unreadable(&format!("open {}: no such file or directory", place.path))
    )]
    NoConfigFile { place: ConfigPlace },
    /// The file is a folder.
    #[text("{said}", said = place.unreadable(&format!("read {}: is a directory", place.path)))]
    ConfigFolder { place: ConfigPlace },
    /// The file is empty.
    #[text(
        "{said}",
        said = place.wrap(&format!("kubelet config file {} was empty", quote(&place.path)))
    )]
    EmptyConfigFile { place: ConfigPlace },
    /// The file is not YAML or JSON, or a drop-in has a key twice.
    #[text("{said}", said = place.undecodable(error))]
    NotYaml { place: ConfigPlace, error: String },
    /// The file is not an object, or its kind and version are not texts.
    #[text("{said}", said = place.undecodable(error))]
    NotAnObject { place: ConfigPlace, error: String },
    /// The file lacks its kind or version.
    #[text("{said}", said = place.untyped(field, body.as_deref().unwrap_or("...")))]
    NoType {
        place: ConfigPlace,
        /// `Kind` or `apiVersion`.
        field: &'static str,
        /// The text of the file, where it is known.
        body: Option<String>,
    },
    /// It is of another kind or version.
    #[text("{said}", said = place.other_type(kind, api_version))]
    OtherType { place: ConfigPlace, kind: String, api_version: String },
    /// A field has a value of another type.
    #[text("{said}", said = place.undecodable(error))]
    FieldType { place: ConfigPlace, field: String, error: String },
    /// A drop-in has a value of another type.
    #[text("failed to unmarshal merged JSON into kubelet configuration: {error}")]
    MergedType { field: String, error: String },
    /// Invalid feature gates of a file.
    #[text(
        "panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {error}"
    )]
    GatesInFile {
        path: String,
        gates: Vec<String>,
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        error: FeatureGateError,
    },
    /// Logging cannot be set up.
    #[text("{said}", said = go_text::aggregate(errors))]
    Logging { errors: Vec<String> },
    /// The configuration breaks rules.
    #[text("{said}", said = aggregate(errors))]
    Invalid {
        /// The kubelet's words for each.
        #[serde(serialize_with = "texts")]
        #[schemars(with = "Vec<String>")]
        errors: Vec<ValidationError>,
    },
    /// A setting that is rejected while the kubelet is created.
    #[text("{error}")]
    Setting {
        /// The field of the configuration.
        field: String,
        error: String,
    },
    /// A server of the kubelet cannot listen.
    #[text("listen tcp: lookup <nil>: no such host")]
    NoAddress { address: String },
    /// Both servers want one port.
    #[text("listen tcp {address}: bind: address already in use")]
    PortTwice {
        /// With the port.
        address: String,
    },
    /// The certificate of the server is named, and its key is not, or the reverse.
    #[text("Failed to listen and serve: {error}")]
    HalfPair {
        /// The field that is not set.
        lacks: &'static str,
        error: String,
    },
    /// A pattern of `allowedUnsafeSysctls` that is malformed, or of a sysctl without a namespace.
    #[text("{error}")]
    UnsafeSysctls { error: String },
    /// The machine has swap.
    #[text(
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"
    )]
    SwapOn { bytes: i64 },
    /// A cgroup is not there.
    #[text("{said}", said = no_cgroup(what, cgroup, names, paths, *problem))]
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
    #[text("{error}")]
    OverReserved { resources: Vec<String>, error: String },
    /// An invalid state file.
    #[text("{said}", said = ended(error, *panics))]
    StateFile {
        file: StateFile,
        path: String,
        error: String,
        /// It panics.
        panics: bool,
    },
    /// No client for the API server can be made of the kubeconfig, or of the bootstrap kubeconfig in its place.
    #[text("{error}")]
    ClientConfig {
        /// The kubeconfig.
        path: String,
        /// The bootstrap kubeconfig, where one is named.
        bootstrap: Option<String>,
        error: String,
    },
    /// A file that is named cannot be used.
    #[text("{error}")]
    NamedFile {
        /// The field of the configuration, or the flag without dashes.
        by: &'static str,
        path: String,
        error: String,
    },
    /// The container runtime cannot be reached.
    #[text("{error}")]
    Endpoint {
        /// The field of the configuration.
        field: &'static str,
        endpoint: String,
        error: String,
    },
    /// Settings of the kernel that the kubelet may not change.
    #[text("{error}")]
    KernelSettings {
        /// The settings that it wants: `vm.overcommit_memory=1`.
        settings: Vec<String>,
        error: String,
    },
    /// A name of a cgroup that systemd has no slice for.
    #[text("{error}")]
    CgroupRoot { error: String },
    /// The kubelet's folder is on a file system for which this patch has no plugin.
    #[text(
        "failed to get rootfs info: failed to get device for dir {folder:%q}: with major: {major}, minor: {minor}: could \
         not find device in cached partitions map"
    )]
    RootFilesystem {
        folder: String,
        /// The numbers of its device.
        major: String,
        minor: String,
        /// The first version with a plugin for it.
        fixed: String,
    },
}

impl StartRule {
    /// Returns how the kubelet ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::GatesInFile { .. }
            | Self::StateFile { panics: true, .. }
            | Self::CgroupRoot { .. } => Exit::Panic,
            Self::PrintsAlone { .. } => Exit::Done,
            _ => Exit::Error,
        }
    }

    /// Returns true if no field of the configuration is known.
    pub(super) fn hides_configuration(&self) -> bool {
        matches!(
            self,
            Self::NoConfigFile { .. }
                | Self::ConfigFolder { .. }
                | Self::EmptyConfigFile { .. }
                | Self::NotYaml { .. }
                | Self::NotAnObject { .. }
                | Self::NoType { .. }
                | Self::OtherType { .. }
        )
    }

    /// Returns the innermost error of the kubelet's message, in which each caller wrapped that of its callee.
    pub fn cause(&self) -> String {
        match self {
            Self::NotYaml { error, .. }
            | Self::NotAnObject { error, .. }
            | Self::FieldType { error, .. }
            | Self::MergedType { error, .. }
            | Self::StateFile { error, .. } => error.clone(),
            Self::OtherType { place, kind, api_version } if !place.is_drop_in => {
                unregistered(kind, api_version)
            }
            Self::GatesInFile { error, .. } => error.to_string(),
            _ => self.to_string(),
        }
    }

    /// Returns the fix; `None`: the kubelet's message already contains it.
    pub fn fix(&self) -> Option<Fix> {
        Some(match self {
            Self::BadArgument { .. } => return None,
            Self::MaskedUnit { unit, .. } => Fix::Unmask { unit },
            Self::UnknownCommand { word } => Fix::RemoveWord { word: word.clone() },
            Self::PrintsAlone { flag } | Self::UnknownFlag { flag, .. } => {
                Fix::RemoveFlag { flag: flag.clone() }
            }
            Self::FlagValue { flag, .. } => Fix::CorrectFlag { flag: flag.clone() },
            Self::UnknownLabels { .. } | Self::InvalidLabels { .. } => {
                Fix::CorrectFlag { flag: "node-labels".to_owned() }
            }
            Self::Gates { gates, error } | Self::GatesInFile { gates, error, .. } => {
                let needs = |it: &FeatureGateProblem| {
                    matches!(it, FeatureGateProblem::NeedsDisabled { .. })
                };
                let gates = gates.clone();
                match error.problems.iter().any(needs) {
                    true => Fix::TurnOffGates { gates },
                    false => Fix::RemoveGates { gates },
                }
            }
            Self::NoConfigFile { place }
            | Self::ConfigFolder { place }
            | Self::EmptyConfigFile { place }
            | Self::NotYaml { place, .. }
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
            Self::UnsafeSysctls { .. } => {
                Fix::CorrectField { field: "allowedUnsafeSysctls".to_owned() }
            }
            Self::NoAddress { .. } => Fix::CorrectField { field: "address".to_owned() },
            Self::PortTwice { .. } => Fix::CorrectField { field: "readOnlyPort".to_owned() },
            Self::HalfPair { lacks, .. } => Fix::CorrectField { field: (*lacks).to_owned() },
            Self::CgroupRoot { .. } => Fix::CorrectField { field: "cgroupRoot".to_owned() },
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
            Self::ClientConfig { path, bootstrap, .. } => match bootstrap {
                Some(bootstrap) => {
                    Fix::Bootstrap { kubeconfig: path.clone(), bootstrap: bootstrap.clone() }
                }
                None => Fix::CorrectFile { path: path.clone() },
            },
            Self::NamedFile { by, path, .. } => Fix::PutFile { by, path: path.clone() },
            Self::Endpoint { field, endpoint, .. } => {
                Fix::StartRuntime { field, endpoint: endpoint.clone() }
            }
            Self::KernelSettings { settings, .. } => Fix::SetKernel { settings: settings.clone() },
            Self::RootFilesystem { fixed, .. } => Fix::UsePatch { version: fixed.clone() },
        })
    }

    /// Returns the file and the function of the kubelet.
    pub fn source(&self) -> &'static str {
        match self {
            Self::MaskedUnit { .. } => "systemd.unit(5)",
            Self::UnknownFlag { .. }
            | Self::BadArgument { .. }
            | Self::UnknownCommand { .. }
            | Self::PrintsAlone { .. }
            | Self::FlagValue { .. }
            | Self::Gates { .. } => "cmd/kubelet/app/server.go NewKubeletCommand",
            Self::UnknownLabels { .. } | Self::InvalidLabels { .. } => {
                "cmd/kubelet/app/options/options.go ValidateKubeletFlags"
            }
            Self::NoConfigFile { .. }
            | Self::ConfigFolder { .. }
            | Self::EmptyConfigFile { .. } => {
                "pkg/kubelet/kubeletconfig/configfiles/configfiles.go Load"
            }
            Self::NotYaml { .. }
            | Self::NotAnObject { .. }
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
            Self::NoAddress { .. } | Self::PortTwice { .. } | Self::HalfPair { .. } => {
                "pkg/kubelet/server/server.go ListenAndServeKubeletServer"
            }
            Self::UnsafeSysctls { .. } => "pkg/kubelet/sysctl/allowlist.go NewAllowlist",
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
            Self::ClientConfig { .. } => "cmd/kubelet/app/server.go buildKubeletClientConfig",
            Self::NamedFile { by, .. } => match *by {
                "authentication.x509.clientCAFile" => "cmd/kubelet/app/auth.go BuildAuthn",
                "config" => "pkg/kubelet/kubeletconfig/configfiles/configfiles.go Load",
                "config-dir" => "cmd/kubelet/app/server.go mergeKubeletConfigurations",
                "lock-file" => "cmd/kubelet/app/server.go run",
                "tlsCertFile" | "cert-dir" => "pkg/kubelet/kubelet.go NewMainKubelet",
                _ => "pkg/credentialprovider/plugin/plugin.go RegisterCredentialProviderPlugins",
            },
            Self::CgroupRoot { .. } => "pkg/kubelet/cm/cgroup_manager_linux.go ToSystemd",
            Self::Endpoint { .. } => "pkg/kubelet/kubelet.go PreInitRuntimeService",
            Self::RootFilesystem { .. } => "pkg/kubelet/cm/container_manager_linux.go Start",
            Self::KernelSettings { .. } => {
                "pkg/kubelet/cm/container_manager_linux.go setupKernelTunables"
            }
        }
    }
}

fn ended(error: &str, panics: bool) -> String {
    match panics {
        true => format!("panic: {error}"),
        false => error.to_owned(),
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
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum Fix {
    /// Let systemd start a unit again.
    #[text("systemctl unmask {unit}")]
    Unmask { unit: &'static str },
    /// Start without a flag.
    #[text("remove --{flag} from the command line")]
    RemoveFlag { flag: String },
    /// Start without a word.
    #[text(if word == "..." => "remove the word that is no flag from the command line")]
    #[text("remove {word} from the command line")]
    RemoveWord { word: String },
    /// Change the value of a flag.
    #[text("correct the value of --{flag}")]
    CorrectFlag { flag: String },
    /// Leave feature gates at their defaults.
    #[text("remove {gates} from the feature gates", gates = gates.join(", "))]
    RemoveGates { gates: Vec<String> },
    /// Turn off feature gates that are on by default.
    #[text(
        "set {gates} to false in the feature gates, or leave on what they depend on",
        gates = gates.join(", ")
    )]
    TurnOffGates { gates: Vec<String> },
    /// Write a valid file.
    #[text("write a KubeletConfiguration of kubelet.config.k8s.io/v1beta1 to {path}")]
    WriteConfig { path: String },
    /// Change the value of a field.
    #[text("correct {field}")]
    CorrectField { field: String },
    /// Set a field to this value.
    #[text("set {field}: {value}")]
    SetField { field: &'static str, value: &'static str },
    /// Create the cgroup that a field names.
    #[text("create the cgroup {cgroup}, or correct {field}")]
    MakeCgroup { field: &'static str, cgroup: String },
    #[text("reserve less {resources}", resources = resources.join(", "))]
    ReserveLess { resources: Vec<String> },
    /// Delete a state file, after the node was drained.
    #[text("drain the node and delete {path}")]
    DeleteFile { path: String },
    /// Give the kubelet credentials again.
    #[text(
        "write a kubeconfig with a valid client certificate to {kubeconfig}, or a bootstrap kubeconfig with a token to \
         {bootstrap}"
    )]
    Bootstrap { kubeconfig: String, bootstrap: String },
    /// Change a file.
    #[text("correct {path}")]
    CorrectFile { path: String },
    /// Supply a file that is named.
    #[text(if path.is_empty() => "correct {by}")]
    #[text("supply {path}, or correct {by}")]
    PutFile { by: &'static str, path: String },
    /// Start the runtime.
    #[text("start the container runtime that serves {endpoint}, or correct {field}")]
    StartRuntime { field: &'static str, endpoint: String },
    /// Change settings of the kernel.
    #[text("set {settings} with sysctl", settings = settings.join(", "))]
    SetKernel { settings: Vec<String> },
    /// Use a kubelet without the fault.
    #[text("install kubelet {version} or later")]
    UsePatch { version: String },
}
