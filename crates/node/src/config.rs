//! The running kubelet's configuration: from `/configz`, else from the files and flags of its process.

use super::pods::{Kubeconfig, kubeconfigs_of_operator};
use super::source_order::{self, NodeInQuestion, config_sources};
use super::spec::NodeSpec;
use kq_answer::origin::Origin;
use kq_api::api_server::{ApiError, client_certificate};
use kq_api::kubelet_api::{
    ClientCertificate, Credentials, HttpError, KubeletApi, RunningKubelet, ServerTrust, hint,
    own_certificates,
};
use kq_facts::describe::ConfigSource;
use kq_facts::kubelet_config::{Source, write_out_empty};
use kq_facts::kubelet_endpoint::{
    CredentialsOrigin, EndpointOrigin, KnownKubelet, KubeletEndpoint, control_plane_files,
    kubelet_endpoints,
};
use kq_facts::kubelet_process::{DEFAULT_CERT_DIR, DEFAULT_ROOT_DIR, KubeletProcess};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::redaction::forget_secrets;
use kq_facts::settings::{assign_flag, assign_gates};
use kq_facts::snapshot::RecordedConfig;
use kq_io::host::LIMIT;
use kq_io::kubelet_files::read_kubelet_config_beneath;
use kq_io::kubelet_process::StoppedKubelet;
use kq_io::trust::read_trusted;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The settings that locate other facts.
#[derive(Clone, Debug, Default)]
pub struct KubeletConfig {
    value: Value,
    /// `--root-dir`
    pub root_dir: String,
    /// `--cert-dir`
    pub cert_dir: String,
    /// `--kubeconfig`
    pub kubeconfig: Option<String>,
    /// The flag wins over the field.
    pub static_pods: Option<String>,
    /// `containerRuntimeEndpoint`
    pub runtime_endpoint: Option<String>,
}

impl KubeletConfig {
    /// Reads the settings of a configuration.
    pub fn of(config: Option<&Value>, process: Option<&KubeletProcess>) -> Self {
        let value = config.cloned().unwrap_or_default();
        let text =
            |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let flags = process.map(KubeletProcess::interpreted).unwrap_or_default();
        Self {
            kubeconfig: flags.kubeconfig,
            cert_dir: flags.cert_dir.unwrap_or_else(|| DEFAULT_CERT_DIR.to_owned()),
            root_dir: flags.root_dir.unwrap_or_else(|| DEFAULT_ROOT_DIR.to_owned()),
            static_pods: text("staticPodPath").map(str::to_owned).or(flags.pod_manifest_path),
            runtime_endpoint: text("containerRuntimeEndpoint")
                .map(str::to_owned)
                .or(flags.container_runtime_endpoint),
            value,
        }
    }

    /// Returns the whole configuration, if known.
    pub fn value(&self) -> Option<&Value> {
        Some(&self.value).filter(|value| value.is_object())
    }
}

/// A running kubelet with a known command line.
#[derive(Clone, Copy, Default)]
pub struct KubeletProcesses<'a> {
    /// One that runs, or one that would be started.
    pub kubelet: Option<&'a KubeletProcess>,
    /// A kubelet that does not run, and the source of its start command.
    pub stopped: Option<&'a StoppedKubelet>,
    /// No process is the kubelet; the processes that were examined.
    pub tried: &'a [FailedSource],
}

impl<'a> KubeletProcesses<'a> {
    /// Returns the kubelet if it runs.
    fn running(self) -> Option<&'a KubeletProcess> {
        self.kubelet.filter(|_| self.stopped.is_none())
    }
}

/// Reads the configuration from the best source that answers. A configuration that the command line names is read
/// elsewhere and replaces this one.
pub fn gather(
    spec: &NodeSpec,
    node: NodeInQuestion,
    is_given: bool,
    root: &Path,
    processes: KubeletProcesses<'_>,
) -> Lookup<RecordedConfig> {
    if !node.has_root() && spec.kubelet_url.is_none() {
        // A field that no file sets has its default.
        return Lookup::default();
    }
    let given = source_order::SourceFlags { kubelet_config: is_given, ..spec.source_flags(false) };
    let on_disk = processes.kubelet.map(|process| of_process(root, process));
    let on_disk = match processes.stopped {
        Some(stopped) => on_disk.map(|read| as_of_stopped(read, stopped)),
        None => on_disk,
    };
    let mut tried = Vec::new();
    for source in config_sources(given) {
        match source {
            source_order::ConfigSource::File => {}
            source_order::ConfigSource::Configz => {
                let value = on_disk.as_ref().and_then(|read| read.as_ref().ok());
                let config = value.map(|(_, config)| &*config.value);
                let process = processes.running();
                let server = KubeletServer { spec, node, root, process, config };
                for endpoint in server.endpoints(&mut tried) {
                    let source = format!("{}/configz", endpoint.url);
                    match configz(&server, &endpoint) {
                        Ok(config) => {
                            return Lookup {
                                found: Some(Sourced { source, value: config }),
                                tried,
                            };
                        }
                        Err(reason) => tried.push(FailedSource { source, reason }),
                    }
                }
            }
            source_order::ConfigSource::Process => match &on_disk {
                Some(Ok((source, config))) => {
                    let found = Sourced { source: source.clone(), value: config.clone() };
                    return Lookup { found: Some(found), tried };
                }
                Some(Err(failed)) => tried.push(failed.clone()),
                None if !node.has_root() => {}
                None => tried.extend(processes.tried.iter().cloned()),
            },
        }
    }
    Lookup { found: None, tried }
}

/// The server of this node's kubelet, and the facts about it.
pub struct KubeletServer<'a> {
    /// The flags.
    pub spec: &'a NodeSpec,
    pub node: NodeInQuestion,
    /// Where the node's root is.
    pub root: &'a Path,
    /// The running kubelet, if trusted.
    pub process: Option<&'a KubeletProcess>,
    /// Its configuration, if trusted.
    pub config: Option<&'a Value>,
}

/// The answer of a kubelet's server.
pub struct KubeletAnswer {
    /// The answer.
    pub body: Vec<u8>,
    /// The server is verified to be the kubelet; otherwise the operator vouches for it.
    pub is_verified: bool,
    /// The kubelet showed another certificate than the one in its folder: a sentence.
    pub note: Option<String>,
}

impl KubeletServer<'_> {
    /// Returns the endpoints to query. If there are none, the reason is added to the failed sources.
    pub fn endpoints(&self, tried: &mut Vec<FailedSource>) -> Vec<KubeletEndpoint> {
        if let Some(reason) = self.node.not_queried().filter(|_| self.spec.kubelet_url.is_none()) {
            tried
                .push(FailedSource { source: "the kubelet".to_owned(), reason: reason.to_owned() });
            return Vec::new();
        }
        let endpoints = kubelet_endpoints(&self.known());
        if endpoints.is_empty() {
            tried.push(FailedSource {
                source: "the kubelet's API".to_owned(),
                reason: "not queried, because no trusted kubelet runs here (--kubelet-url names a server)"
                    .to_owned(),
            });
        }
        endpoints
    }

    /// Returns the kubeconfigs of the operator with a client certificate.
    fn kubeconfigs(&self) -> Vec<Kubeconfig> {
        let Self { spec, node, root, .. } = *self;
        let mut found = kubeconfigs_of_operator(spec, node, root);
        found.retain(|it| self.certificate(it).is_ok_and(|it| it.is_some()));
        found
    }

    fn certificate(&self, kubeconfig: &Kubeconfig) -> Result<Option<ClientCertificate>, ApiError> {
        client_certificate(kubeconfig.place(self.root), &self.spec.choice)
    }

    /// Returns the known facts about the kubelet's endpoints.
    fn known(&self) -> KnownKubelet {
        let Self { spec, root, config, .. } = *self;
        let number = |field: &str| {
            config?.get(field).and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok())
        };
        let files = control_plane_files().flat_map(|(certificate, key)| [certificate, key]);
        let files = files.map(PathBuf::from);
        let is_believed =
            |path: &PathBuf| read_trusted(root, &path.to_string_lossy(), LIMIT).is_ok();
        KnownKubelet {
            runs: self.process.is_some(),
            has_server_flag: spec.kubelet_certificate_authority.is_some()
                || spec.kubelet_insecure_skip_tls_verify,
            url: spec.kubelet_url.clone(),
            token_file: spec.kubelet_token_file.clone(),
            client_certificate: spec.kubelet_client_certificate.clone(),
            client_key: spec.kubelet_client_key.clone(),
            address: config
                .and_then(|config| config.get("address")?.as_str())
                .map(str::to_owned)
                .filter(|address| !address.is_empty()),
            port: number("port"),
            // A file that does not name it turns it off.
            read_only_port: number("readOnlyPort").or_else(|| config.map(|_| 0)),
            accepts_certificates: config.map(|config| {
                let file =
                    config.pointer("/authentication/x509/clientCAFile").and_then(Value::as_str);
                file.is_some_and(|file| !file.is_empty())
            }),
            files: files.filter(is_believed).collect(),
            kubeconfigs: self.kubeconfigs().iter().map(Kubeconfig::shown).collect(),
        }
    }

    /// Returns the ways to verify the server at an endpoint, the best first: as the operator says, by its certificate, by
    /// the process that accepts the connection.
    fn trusts(&self, endpoint: &KubeletEndpoint) -> Vec<ServerTrust> {
        let Self { spec, root, process, config, .. } = *self;
        let is_tls = is_tls(&endpoint.url);
        match &spec.kubelet_certificate_authority {
            Some(file) if is_tls => return vec![ServerTrust::Authority(file.clone())],
            _ if is_tls && spec.kubelet_insecure_skip_tls_verify => {
                return vec![ServerTrust::Insecure];
            }
            _ if !is_tls && endpoint.origin == EndpointOrigin::Flag => {
                return vec![ServerTrust::Insecure];
            }
            _ => {}
        }
        let Some(process) = process else { return Vec::new() };
        let mut trusts = Vec::new();
        if is_tls {
            let folder = process.interpreted().cert_dir;
            let folder = folder.as_deref().unwrap_or(DEFAULT_CERT_DIR);
            let file = config.and_then(|config| config.get("tlsCertFile")?.as_str());
            let certificates = own_certificates(root, folder, file);
            trusts.extend((!certificates.is_empty()).then_some(ServerTrust::Pinned(certificates)));
        }
        trusts.push(ServerTrust::Socket(RunningKubelet::new(root, process)));
        trusts
    }

    /// Queries an endpoint of the kubelet.
    ///
    /// # Errors
    ///
    /// Fails with the reason and the remedy.
    pub fn ask(&self, endpoint: &KubeletEndpoint, path: &str) -> Result<KubeletAnswer, String> {
        const SAY: &str =
            "pass --kubelet-certificate-authority FILE or --kubelet-insecure-skip-tls-verify";
        let on_node = |file: &Path| self.root.join(file.strip_prefix("/").unwrap_or(file));
        let credentials = match (&endpoint.credentials, endpoint.credentials_origin) {
            (
                Credentials::ClientCertificate { certificate, key },
                CredentialsOrigin::ControlPlane(_),
            ) => Credentials::ClientCertificate {
                certificate: on_node(certificate),
                key: on_node(key),
            },
            (credentials, _) => credentials.clone(),
        };
        let mut reason = format!(
            "the server cannot be verified to be the kubelet, because no trusted kubelet runs here: {SAY}"
        );
        // The kubelet may use another certificate than the stored one, as after a renewal. Its process then accepts the
        // connection nevertheless.
        let mut other = None;
        for server in self.trusts(endpoint) {
            let is_socket = matches!(server, ServerTrust::Socket(_));
            if is_socket && matches!(credentials, Credentials::TokenFile(_)) {
                reason = format!(
                    "a token is not sent to a server without a verified certificate: {SAY}"
                );
                continue;
            }
            let is_verified = server != ServerTrust::Insecure;
            let api =
                KubeletApi { url: endpoint.url.clone(), credentials: credentials.clone(), server };
            let certificate = match &credentials {
                Credentials::Kubeconfig(shown) => {
                    let mut all = self.kubeconfigs().into_iter();
                    let named = all.find(|it| it.shown() == *shown);
                    named.and_then(|it| self.certificate(&it).ok().flatten())
                }
                _ => None,
            };
            let error = match api.get_as(certificate, path, self.spec.timeout) {
                Ok(body) => {
                    let note = other.map(|_| {
                        format!(
                            "{}: the server's certificate is not the one in the kubelet's folder; the server is \
                             verified by its connection, which the kubelet's process accepted",
                            endpoint.url
                        )
                    });
                    return Ok(KubeletAnswer { body, is_verified, note });
                }
                Err(error) => error,
            };
            let hint = match &error {
                HttpError::Unknown { .. } if is_tls(&endpoint.url) => Some(SAY.to_owned()),
                HttpError::Unknown { .. } => Some("--kubelet-url names a server".to_owned()),
                // A client without permission needs the hint; a closed port explains itself.
                _ => hint(&error).filter(|_| matches!(error.status(), Some(401 | 403))),
            };
            let refused = matches!(error.status(), Some(401 | 403));
            let said = match credentials.shown().filter(|_| refused) {
                Some(tried) => format!("{error} to {tried}"),
                None => error.to_string(),
            };
            reason = hint.map_or_else(|| said.clone(), |hint| format!("{said} ({hint})"));
            if !matches!(error, HttpError::OtherCertificate { .. }) {
                break;
            }
            other = Some(error.to_string());
        }
        Err(match other {
            Some(other) if other != reason => format!("{other}; {reason}"),
            _ => reason,
        })
    }
}

fn is_tls(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// The fields that name files and sockets of the node. They are taken only from a server that is verified to be the
/// kubelet.
const PLACES: [&str; 8] = [
    "containerRuntimeEndpoint",
    "imageServiceEndpoint",
    "podLogsDir",
    "resolvConf",
    "staticPodPath",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "volumePluginDir",
];

fn configz(
    server: &KubeletServer<'_>,
    endpoint: &KubeletEndpoint,
) -> Result<RecordedConfig, String> {
    let answer = server.ask(endpoint, "/configz")?;
    let mut read: Value = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the answer is not JSON: {error}"))?;
    let mut value = read.get_mut("kubeletconfig").map(Value::take).unwrap_or_default();
    if !value.is_object() {
        return Err("the answer has no kubeletconfig".to_owned());
    }
    forget_secrets(&mut value);
    write_out_empty(&mut value);
    let mut notes = Vec::from_iter(answer.note);
    if let Some(fields) = value.as_object_mut().filter(|_| !answer.is_verified) {
        let mut left_out = Vec::new();
        for field in PLACES {
            let said = fields.remove(field);
            let known = server.config.and_then(|config| config.get(field));
            if said.is_some() && said.as_ref() != known {
                left_out.push(field);
            }
            // The values of the kubelet's own file are trusted.
            fields.extend(known.map(|value| (field.to_owned(), value.clone())));
        }
        if !left_out.is_empty() {
            notes.push(format!(
                "{}: {} not used, because the server is not known to be the kubelet",
                endpoint.url,
                left_out.join(", ")
            ));
        }
    }
    Ok(RecordedConfig {
        value: value.into(),
        read_as: Some(Source::Configz),
        notes,
        ..RecordedConfig::default()
    })
}

/// Reads the files that the process was started with, and applies its flags.
fn of_process(
    root: &Path,
    process: &KubeletProcess,
) -> Result<(String, RecordedConfig), FailedSource> {
    let flags = process.interpreted();
    let mut notes = process.notes.clone();
    notes.extend(
        flags.problems.iter().map(|problem| format!("the kubelet's command line: {problem}")),
    );
    let in_files = flags.config.clone().or_else(|| flags.config_dir.clone());
    let named = in_files
        .or_else(|| process.flag_files.first().cloned())
        .unwrap_or_else(|| format!("/proc/{}/cmdline", process.pid));
    let refuse = |reason: String| FailedSource { source: named.clone(), reason };
    let mut config: ConfigSource = read_kubelet_config_beneath(
        root,
        flags.config.as_deref(),
        flags.config_dir.as_deref(),
        &mut notes,
    )
    .map_err(|error| refuse(error.to_string()))?;
    for setting in &flags.settings {
        let origin = Origin::Source(format!("{} of the kubelet", setting.flag));
        assign_flag(&mut config, setting, origin)
            .map_err(|error| refuse(format!("{}: {error}", setting.flag)))?;
    }
    let gates = Origin::Source("--feature-gates of the kubelet".to_owned());
    assign_gates(&mut config, flags.feature_gates, &gates);
    forget_secrets(Arc::make_mut(&mut config.value));
    if config.value.is_null() {
        config.value = Value::Object(serde_json::Map::new()).into();
    }
    // The thresholds have their defaults from reading a file.
    if config.source.is_none()
        && flags.config.is_none()
        && !process.hides_flags()
        && let Some(fields) = Arc::make_mut(&mut config.value).as_object_mut()
    {
        fields.entry("evictionHard").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    let origins = config.origins.iter().map(|(field, origin)| (field.clone(), origin.to_string()));
    let recorded = RecordedConfig {
        origins: origins.collect(),
        read_as: Some(config.source.unwrap_or(Source::Flags)),
        value: config.value,
        notes,
        by_flag: config.by_flag,
    };
    Ok((named, recorded))
}

/// Marks a configuration as that of a stopped kubelet.
fn as_of_stopped(
    read: Result<(String, RecordedConfig), FailedSource>,
    stopped: &StoppedKubelet,
) -> Result<(String, RecordedConfig), FailedSource> {
    let (named, mut config) = read?;
    let source = match named.starts_with("/proc/") {
        true => stopped.source.clone(),
        false => named,
    };
    let source = format!("{source} (no kubelet runs)");
    config.notes.push(format!(
        "no kubelet runs: the configuration is the one that {} starts it with",
        stopped.source
    ));
    Ok((source, config))
}
