//! The probes of a container, as its pod specifies them.
//!
//! Commands, queries, HTTP headers and environment variables may hold secrets: `Pod::redact` leaves out their
//! values, and says so.

use super::read::{null_as_default, objects, optional_object};
use super::{Container, Details};
use serde::de::{Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The container that Istio adds to a pod.
pub const PROXY: &str = "istio-proxy";

/// The variable of [`PROXY`] with the probes that it answers for the application.
pub const INJECTED_PROBES: &str = "ISTIO_KUBE_APP_PROBERS";

/// A probe's handler, and its timing. All numbers are as in the
/// manifest: 0 stands for the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Probe {
    /// Run a command in the container.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecAction>,
    /// Get a URL.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetAction>,
    /// Open a connection.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketAction>,
    /// Calls the gRPC health service.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcAction>,
    /// How long after the start of the container nothing is probed.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub initial_delay_seconds: i32,
    /// The timeout of one probe.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub timeout_seconds: i32,
    /// How often it is probed.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub period_seconds: i32,
    /// How many successes in a row count.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub success_threshold: i32,
    /// How many failures in a row count.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub failure_threshold: i32,
    /// The termination grace period of the container after this probe has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
}

/// A command to run in the container; its exit code decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExecAction {
    /// The program and its arguments; `$(NAME)` stands for a variable of the container.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The command is not kept: it may hold a secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_withheld: bool,
}

/// A URL to get; the status code decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpGetAction {
    /// Path and query.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The query is not kept: it may hold a secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub query_withheld: bool,
    /// The port, or the name of one of the container's.
    #[serde(deserialize_with = "null_as_default")]
    pub port: IntOrString,
    /// The host; empty for the pod's IP.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// `HTTP` or `HTTPS`; empty for `HTTP`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub scheme: String,
    /// `HTTP1` or `HTTP2`, by a gate of 1.37; empty for `HTTP1`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// Headers of the request.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub http_headers: Vec<HttpHeader>,
}

/// A header of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpHeader {
    /// The name, with its original case.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub value: String,
    /// The value is not kept: it may be a secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub value_withheld: bool,
}

/// A port to connect to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TcpSocketAction {
    /// The port, or the name of one of the container's.
    #[serde(deserialize_with = "null_as_default")]
    pub port: IntOrString,
    /// The host; empty for the pod's IP.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// A gRPC health service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GrpcAction {
    #[serde(deserialize_with = "null_as_default")]
    pub port: i32,
    /// The name of the service.
    pub service: Option<String>,
    /// `Plaintext` or `TLS`, by a gate of 1.37; empty for `Plaintext`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub mode: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// The name; may be empty.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The number.
    #[serde(deserialize_with = "null_as_default")]
    pub container_port: i32,
    /// The host port; 0 for none.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub host_port: i32,
    /// The address of the node; empty for all.
    #[serde(
        rename = "hostIP",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub host_ip: String,
    /// `TCP`, `UDP` or `SCTP`; empty for `TCP`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub protocol: String,
}

/// A variable of a container, kept where the command of a probe names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvVar {
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The value; empty where it comes from elsewhere.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The value comes from elsewhere.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueFrom>,
}

/// Where the value of a variable comes from; other origins than these have nothing here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ValueFrom {
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<Details>,
}

/// The kind of an object whose entries are variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvFrom {
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<Details>,
}

/// The rules by which an ended container restarts, which override the policy of its pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerRestartRule {
    /// `Restart` or `RestartAllContainers`.
    #[serde(deserialize_with = "null_as_default")]
    pub action: String,
    /// After which exit codes; `None`: after none.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<ExitCodes>,
}

/// A set of exit codes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExitCodes {
    /// `In` or `NotIn`.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: String,
    /// The codes.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<i32>,
}

/// A number or a text (`intstr.IntOrString`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text.
    String(String),
}

/// The probes of a container.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ProbeType {
    /// Has it started? Until then, the others wait.
    Startup,
    /// May it get requests?
    Readiness,
    /// Is it alive, or to be killed?
    Liveness,
}

impl Probe {
    /// Returns whether it has a handler, and which one counts where there are several: the order
    /// of `runProbe`, `pkg/kubelet/prober/prober.go`.
    pub fn handler(&self) -> Option<Handler<'_>> {
        let exec = self.exec.as_ref().map(Handler::Exec);
        let http = self.http_get.as_ref().map(Handler::HttpGet);
        let tcp = self.tcp_socket.as_ref().map(Handler::TcpSocket);
        exec.or(http).or(tcp).or(self.grpc.as_ref().map(Handler::Grpc))
    }

    /// Removes possible secrets: commands, queries, most headers. Returns the removed texts.
    fn redact(&mut self) -> Vec<String> {
        let mut removed = Vec::new();
        if let Some(exec) = &mut self.exec {
            exec.command_withheld |= !exec.command.is_empty();
            removed.append(&mut exec.command);
        }
        if let Some(get) = &mut self.http_get {
            removed.extend(get.http_headers.iter_mut().filter_map(HttpHeader::redact));
            // An absolute URL may name a user.
            let kept = if get.path.starts_with('/') && !get.path.starts_with("//") {
                get.path.find(['?', '#']).unwrap_or(get.path.len())
            } else {
                0
            };
            get.query_withheld |= kept < get.path.len();
            let query = get.path.split_off(kept);
            let values = query.split(['?', '#', '&']).filter_map(|pair| pair.split_once('='));
            removed.extend(values.map(|(_, value)| value.to_owned()));
            removed.push(query.trim_start_matches(['?', '#']).to_owned());
        }
        removed
    }
}

/// The way to probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Handler<'p> {
    /// Run a command in the container.
    Exec(&'p ExecAction),
    /// Get a URL.
    HttpGet(&'p HttpGetAction),
    /// Open a connection.
    TcpSocket(&'p TcpSocketAction),
    /// Calls the gRPC health service.
    Grpc(&'p GrpcAction),
}

impl Container {
    /// Returns a probe.
    pub fn probe(&self, kind: ProbeType) -> Option<&Probe> {
        match kind {
            ProbeType::Startup => self.startup_probe.as_deref(),
            ProbeType::Readiness => self.readiness_probe.as_deref(),
            ProbeType::Liveness => self.liveness_probe.as_deref(),
        }
    }

    /// Returns the probes in the order in which the kubelet makes workers for them.
    pub fn probes(&self) -> impl Iterator<Item = (ProbeType, &Probe)> {
        ProbeType::ALL.into_iter().filter_map(|kind| Some((kind, self.probe(kind)?)))
    }

    /// Forgets every variable that no command of a probe names. The kinds of objects that variables come from are kept.
    pub(super) fn forget_environment(&mut self) {
        let mut env = std::mem::take(&mut self.env);
        let of_variables = env.iter().filter_map(|variable| variable.value_from).map(|from| {
            EnvFrom { secret_ref: from.secret_key_ref, config_map_ref: from.config_map_key_ref }
        });
        let all = std::mem::take(&mut self.env_from).into_iter().chain(of_variables);
        let kinds = all.fold(EnvFrom::default(), |kinds, one| EnvFrom {
            secret_ref: kinds.secret_ref.or(one.secret_ref),
            config_map_ref: kinds.config_map_ref.or(one.config_map_ref),
        });
        self.env_from = if kinds == EnvFrom::default() { Vec::new() } else { vec![kinds] };
        let commands = self.probes().filter_map(|(_, probe)| probe.exec.as_ref());
        let texts = commands.flat_map(|exec| &exec.command);
        // Only names of these lengths are compared, so that long ones cost nothing.
        let lengths: BTreeSet<usize> = env.iter().map(|variable| variable.name.len()).collect();
        let named: BTreeSet<&str> = texts
            .flat_map(|text| references(text))
            .filter(|name| lengths.contains(&name.len()))
            .collect();
        let is_proxy = self.name == PROXY;
        env.retain(|variable| {
            named.contains(variable.name.as_str()) || is_proxy && variable.name == INJECTED_PROBES
        });
        self.env = env;
    }

    /// Removes possible secrets, and returns them.
    pub(super) fn redact(&mut self) -> Vec<String> {
        let probes = [&mut self.startup_probe, &mut self.readiness_probe, &mut self.liveness_probe];
        let mut removed: Vec<String> =
            probes.into_iter().flatten().flat_map(|probe| probe.redact()).collect();
        // They serve the commands, which are gone.
        removed.extend(self.env.drain(..).map(|variable| variable.value));
        removed
    }
}

/// Returns all possible names of variables in a text: between `$(` and the next `)`.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let mut close = text.find(')');
    text.match_indices("$(").map_while(move |(at, _)| {
        let begin = at + 2;
        while close.is_some_and(|close| close < begin) {
            close = text[begin..].find(')').map(|more| begin + more);
        }
        text.get(begin..close?)
    })
}

impl HttpHeader {
    /// Removes the value, unless the header never holds a secret. Returns it.
    fn redact(&mut self) -> Option<String> {
        const HARMLESS: [&str; 7] = [
            "accept",
            "accept-encoding",
            "accept-language",
            "connection",
            "content-type",
            "host",
            "user-agent",
        ];
        if HARMLESS.contains(&self.name.to_ascii_lowercase().as_str()) || self.value.is_empty() {
            return None;
        }
        self.value_withheld = true;
        Some(std::mem::take(&mut self.value))
    }
}

impl ProbeType {
    /// In the order in which the kubelet makes workers for them (`AddPod`,
    /// `pkg/kubelet/prober/prober_manager.go`).
    pub const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    /// Returns the field of a container that holds the probe.
    pub fn field(self) -> &'static str {
        match self {
            Self::Startup => "startupProbe",
            Self::Readiness => "readinessProbe",
            Self::Liveness => "livenessProbe",
        }
    }
}

impl fmt::Display for ProbeType {
    /// As events begin: `Liveness`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        })
    }
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::String(text) => text.fmt(f),
        }
    }
}

crate::schema_as!(IntOrString, serde_json::Value);

impl Serialize for IntOrString {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_i32(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = IntOrString;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port number or the name of a port")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<IntOrString, E> {
                let number = i32::try_from(number)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
                Ok(IntOrString::Int(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<IntOrString, E> {
                let number = i32::try_from(number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
                Ok(IntOrString::Int(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<IntOrString, E> {
                Ok(IntOrString::String(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Reads a probe; the box keeps containers without probes small.
pub(super) fn boxed<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Probe>>, D::Error> {
    Ok(optional_object(deserializer)?.map(Box::new))
}

/// Returns true for a default value; such a field is not serialised.
pub(super) fn is_zero(number: &i32) -> bool {
    *number == 0
}
