//! The flags that name the sources of facts, and those that refresh an answer.

use crate::exit::{Code, Failure, note, tell_all};
use crate::kubeconfig_args::ChoiceArgs;
use crate::node_args::RootArgs;
use crate::progress::waiting;
use crate::write;
use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kq_facts::fact_table::summary;
use kq_facts::needs::Needs;
use kq_facts::runtime_endpoint::{CRICTL_CONFIG_VARIABLE, ENDPOINT_VARIABLE};
use kq_facts::snapshot::{PodSource, Snapshot};
use kq_k8s::duration::GoDuration;
use kq_node::source_order::NodeInQuestion;
use kq_node::{DeviceFiles, Environment, NodeSpec};
use kq_output::shell::quoted;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The flags about a live node, which a snapshot conflicts with.
const OF_THE_NODE: [&str; 9] = [
    "host_root",
    "pods_from",
    "kubelet_url",
    "kubelet_token_file",
    "kubelet_client_certificate",
    "kubelet_client_key",
    "kubelet_certificate_authority",
    "kubelet_insecure_skip_tls_verify",
    "runtime_endpoint",
];

/// The flags that say where facts are. Without any, kq looks around on the node on which it runs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data sources")]
pub struct SourceArgs {
    /// Read the node from a snapshot file instead of querying it (default: $KQ_SNAPSHOT). Files named by
    /// other flags are still read
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_THE_NODE)]
    pub snapshot: Option<String>,

    /// Query this machine for anything not set by flags, even when files are given
    #[arg(long)]
    pub live: bool,

    /// The root of the node's file system (default: /host in a debugging container, else /). For a copy
    /// of a node's files, kq queries no server
    #[arg(long, value_name = "DIR")]
    pub host_root: Option<PathBuf>,

    /// The pods of the node: manifests or lists; - reads standard input (can be repeated)
    #[arg(long, value_name = "FILE")]
    pub pods: Vec<String>,

    /// Read pods only from this source: api-server, kubelet, static or runtime
    #[arg(long, value_name = "SOURCE", value_parser = pod_source())]
    pub pods_from: Option<PodSource>,

    /// The node's name in the API server (default: the kubelet's node name, else the host name)
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,

    /// The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config, the kubelet's kubeconfig)
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// The kubelet's API, such as https://127.0.0.1:10250 (default: the address in its configuration)
    #[arg(long, value_name = "URL")]
    pub kubelet_url: Option<String>,

    /// A bearer token for the kubelet's API
    #[arg(long, value_name = "FILE")]
    pub kubelet_token_file: Option<PathBuf>,

    /// A client certificate for the kubelet's API, in PEM
    #[arg(long, value_name = "FILE")]
    pub kubelet_client_certificate: Option<PathBuf>,

    /// The key of the client certificate (default: in the certificate's file)
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    pub kubelet_client_key: Option<PathBuf>,

    /// The CA of the kubelet's certificate, in PEM. Without it, the server must present the certificate
    /// in the kubelet's directory, or listen on a socket of the kubelet's process
    #[arg(long, value_name = "FILE")]
    pub kubelet_certificate_authority: Option<PathBuf>,

    /// Accept any certificate from the server at the kubelet's address, and send it the token
    #[arg(long)]
    pub kubelet_insecure_skip_tls_verify: bool,

    /// The container runtime, such as unix:///run/containerd/containerd.sock (default:
    /// $CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, the kubelet's endpoint, the usual sockets)
    #[arg(short, long, value_name = "ENDPOINT")]
    pub runtime_endpoint: Option<String>,

    /// Time limit for each source
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_timeout)]
    pub timeout: Duration,

    /// List the sources queried and their results, and every assumption
    #[arg(short, long)]
    pub verbose: bool,
}

impl SourceArgs {
    /// Returns a flag that has no effect unless a node is queried.
    pub fn first_given(&self) -> Option<&'static str> {
        self.given().next()
    }

    /// Returns the flags with which another command is about the same node: ` --snapshot FILE`.
    pub fn of_commands(&self) -> String {
        let root = self.host_root.as_ref().and_then(|it| it.to_str());
        let flags = [("snapshot", self.snapshot.as_deref()), ("host-root", root)];
        let typed =
            |(name, value): (&str, Option<&str>)| Some(format!(" --{name} {}", quoted(value?)));
        flags.into_iter().filter_map(typed).collect()
    }

    /// Takes a file as the snapshot.
    /// Fails together with a flag about a live node.
    pub fn take_snapshot(&mut self, file: String) -> Result<(), Failure> {
        let is_of_node = |flag: &&str| OF_THE_NODE.contains(&&*flag[2..].replace('-', "_"));
        if let Some(flag) = self.given().find(is_of_node) {
            let refused = anyhow!("{flag} cannot be used with a snapshot: {file}");
            return Err(Failure::usage(refused).hint("for a pod of that name, give its namespace"));
        }
        self.snapshot = Some(file);
        Ok(())
    }

    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.host_root.is_some(), "--host-root"),
            (!self.pods.is_empty(), "--pods"),
            (self.pods_from.is_some(), "--pods-from"),
            (self.node_name.is_some(), "--node-name"),
            (self.kubeconfig.is_some(), "--kubeconfig"),
            (self.kubelet_url.is_some(), "--kubelet-url"),
            (self.kubelet_token_file.is_some(), "--kubelet-token-file"),
            (self.kubelet_client_certificate.is_some(), "--kubelet-client-certificate"),
            (self.kubelet_client_key.is_some(), "--kubelet-client-key"),
            (self.kubelet_certificate_authority.is_some(), "--kubelet-certificate-authority"),
            (self.kubelet_insecure_skip_tls_verify, "--kubelet-insecure-skip-tls-verify"),
            (self.runtime_endpoint.is_some(), "--runtime-endpoint"),
        ];
        let given = given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag);
        given.chain(self.choice.given())
    }

    /// Returns what the flags say.
    pub fn spec(&self) -> NodeSpec {
        let sources = self.clone();
        NodeSpec {
            snapshot: sources.snapshot,
            live: sources.live,
            host_root: sources.host_root,
            pods: sources.pods,
            pods_from: sources.pods_from,
            node_name: sources.node_name,
            kubeconfig: sources.kubeconfig,
            choice: sources.choice.choice(),
            kubelet_url: sources.kubelet_url,
            kubelet_token_file: sources.kubelet_token_file,
            kubelet_client_certificate: sources.kubelet_client_certificate,
            kubelet_client_key: sources.kubelet_client_key,
            kubelet_certificate_authority: sources.kubelet_certificate_authority,
            kubelet_insecure_skip_tls_verify: sources.kubelet_insecure_skip_tls_verify,
            runtime_endpoint: sources.runtime_endpoint,
            cgroup_root: None,
            environment: environment(),
            timeout: sources.timeout,
        }
    }

    /// Writes all notes in full, with `--verbose`.
    pub fn choose_notes(&self) {
        if self.verbose {
            tell_all();
        }
    }

    /// Shows the sources of a snapshot, with `--verbose`.
    pub fn show(&self, snapshot: &Snapshot) {
        self.choose_notes();
        if self.verbose {
            summary(snapshot).iter().for_each(|line| note("source", line));
        }
    }

    /// Returns the node in question; see [`NodeSpec::node_in_question`].
    pub fn node_in_question(&self, files: bool, only_on_node: bool) -> NodeInQuestion {
        self.spec().node_in_question(files, only_on_node)
    }
}

/// What a command does while it waits for the sources.
pub const GATHERING: &str = "querying the kubelet, the container runtime and the API server ...";

/// Gathers the needed facts; with `--verbose` the sources are shown. `config` is the kubelet's configuration where it is
/// given.
pub fn gather(
    sources: &SourceArgs,
    root: &RootArgs,
    config: Option<&Value>,
    needs: Needs,
) -> Result<Snapshot, Failure> {
    let spec = NodeSpec { cgroup_root: root.cgroup_root.clone(), ..sources.spec() };
    let snapshot = waiting(GATHERING, || kq_node::gather(&spec, config, needs))?;
    sources.show(&snapshot);
    Ok(snapshot)
}

/// Returns the variables of the environment that name sources; an empty one is not set.
#[expect(clippy::disallowed_methods, reason = "the environment is read here, once")]
fn environment() -> Environment {
    let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    Environment {
        kubeconfig: read("KUBECONFIG"),
        home: read(home).filter(|home| Path::new(home).is_absolute()),
        container_runtime_endpoint: read(ENDPOINT_VARIABLE),
        cri_config_file: read(CRICTL_CONFIG_VARIABLE),
    }
}

fn pod_source() -> impl TypedValueParser<Value = PodSource> {
    let names = ["api-server", "kubelet", "static", "runtime"];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "api-server" => PodSource::ApiServer,
        "kubelet" => PodSource::Kubelet,
        "static" => PodSource::StaticManifests,
        _ => PodSource::Runtime,
    })
}

/// Refuses to read standard input twice: the second time it is empty. `flags`: those that name a file, next to FILE.
pub fn refuse_input_twice<'f>(
    files: impl Iterator<Item = &'f String>,
    flags: &str,
) -> Result<(), Failure> {
    match files.filter(|file| *file == "-").count() {
        0 | 1 => Ok(()),
        times => Err(Failure::usage(anyhow!("standard input cannot be read {times} times"))
            .hint(format!("only one of FILE, {flags} can be -"))),
    }
}

/// Reads a duration that something can be waited for.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}, such as 5s"))?;
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds > 0 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("expected a duration of more than 0, such as 3s or 500ms".to_owned()),
    }
}

/// The flags that name files with the kubelet's devices.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Data sources")]
pub struct DeviceFileArgs {
    /// The device manager's checkpoint (default: the node's kubelet_internal_checkpoint)
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<String>,

    /// The answer of the kubelet's pod-resources API as JSON. By default kq queries the kubelet
    #[arg(long, value_name = "FILE")]
    pod_resources: Option<String>,
}

/// The devices of a node, given by hand.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GivenDevicesArgs {
    /// The devices: a list of {resource, id, health, numaNodes} in JSON or YAML. The list is complete
    /// for each resource that it names
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    pub devices: Option<String>,
}

impl DeviceFileArgs {
    /// Returns the files, and the list of devices over them.
    pub fn files(&self, given: Option<&GivenDevicesArgs>) -> DeviceFiles {
        let (checkpoint, pod_resources) = (self.checkpoint.clone(), self.pod_resources.clone());
        DeviceFiles { checkpoint, pod_resources, given: given.and_then(|it| it.devices.clone()) }
    }
}

/// Reads a duration that leaves the node some peace.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}, such as 5s"))?;
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds >= 100_000_000 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("expected a duration of at least 100ms".to_owned()),
    }
}

/// The arguments of answers about a live node.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Refresh until interrupted
    #[arg(short, long, conflicts_with = "snapshot")]
    watch: bool,

    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "watch",
          value_parser = parse_interval)]
    interval: Duration,
}

impl WatchArgs {
    /// Answers once, or again and again; the first failure ends it. A signal ends the process as it always does.
    pub fn run(&self, answer: impl Fn() -> Result<Code, Failure>) -> Result<Code, Failure> {
        if !self.watch {
            return answer();
        }
        loop {
            write::new_screen()?;
            answer()?;
            std::thread::sleep(self.interval);
        }
    }
}
