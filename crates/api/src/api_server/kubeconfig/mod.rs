//! Reads a kubeconfig: the server, its authorities, and the client's credentials.
//!
//! The rules are kubectl's (`tools/clientcmd/client_config.go` of client-go): data in the file takes precedence
//! over a path, a token file over a token, and paths are relative to the file.
//!
//! A kubeconfig decides to which server a secret is sent. So it may name only files of its own owner, or of root if it
//! is trusted itself: another user's kubeconfig could send root's files away.

use crate::api_server::{ApiError, KubeconfigPlace};
use crate::http::authorities::Authorities;
use crate::http::tls::{Identity, Tls, Trust, authorities};
use crate::http::{HttpError, TOKEN_FILE, Target, open_bounded, read_token, refuse, token};
use crate::kubelet_api::ClientCertificate;
use k8s_openapi::ByteString;
use kq_facts::limits::MAX_KUBECONFIG_BYTES;
use kq_io::host::LIMIT;
use kq_io::memory;
use kq_io::trust::{Namer, read_trusted};
use kq_k8s::yaml::{self, YamlError};
use kube::Config;
use kube::config::{AuthInfo, Cluster, Kubeconfig};
use rustls::RootCertStore;
use rustls_pki_types::ServerName;
use secrecy::{ExposeSecret, SecretString};
use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// The access to a server.
pub(super) struct Access {
    /// The address of the server, and the headers with the credentials.
    pub(super) config: Config,
    /// For a server that speaks it.
    pub(super) tls: Option<Tls>,
}

/// A kubeconfig and the name that it has in messages.
struct Source {
    path: String,
    config: Kubeconfig,
    /// The owners of the operator's files that it was read from.
    namers: Vec<Namer>,
    /// The root of the node that it belongs to, in which its paths begin; `None`: the operator's own.
    root: Option<PathBuf>,
}

/// Reads the named kubeconfig, else those of kubectl, else the service account of kq's pod.
pub(super) fn read(place: KubeconfigPlace<'_>, context: Option<&str>) -> Result<Access, ApiError> {
    let Some(source) = Source::find(place)? else { return in_cluster() };
    let (cluster, user) = source.choose(context)?;
    source.access(&cluster, user)
}

/// Returns the client certificate of a kubeconfig, which kubelets of its cluster may accept, too; `None`: it has none.
/// Fails for a file that cannot be read, and a context that it does not have.
pub fn client_certificate(
    place: KubeconfigPlace<'_>,
    context: Option<&str>,
) -> Result<Option<ClientCertificate>, ApiError> {
    let Some(source) = Source::find(place)? else { return Ok(None) };
    let (_, user) = source.choose(context)?;
    Ok(source.identity(&user)?.map(ClientCertificate))
}

/// Reads YAML as a kubeconfig; relative paths in it are relative to its folder.
fn parse(path: &Path, shown: &str, content: Vec<u8>) -> Result<Kubeconfig, ApiError> {
    let refuse = |reason| ApiError::Kubeconfig { path: shown.to_owned(), reason };
    if content.len() as u64 > MAX_KUBECONFIG_BYTES {
        let reason = format!("has more than {MAX_KUBECONFIG_BYTES} bytes, which kq does not read");
        return Err(refuse(reason));
    }
    let text = String::from_utf8(content).map_err(|_| refuse("not text in UTF-8".to_owned()))?;
    memory::received(shown, text.len());
    // kube also reads the expansion of anchors; this reader rejects them.
    for document in yaml::documents(text.trim_start_matches('\u{feff}')) {
        let read = yaml::read(document.text);
        read.map_err(|error| refuse(syntax(&error, document.lines_before)))?;
    }
    let mut config = Kubeconfig::from_yaml(&text).map_err(|error| match error {
        // serde's error quotes lines of the file, which can be secret.
        kube::config::KubeconfigError::Parse(_) => {
            refuse("it does not have the fields of a kubeconfig".to_owned())
        }
        error => refuse(error.to_string()),
    })?;
    let clusters = config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    let mut files: Vec<&mut Option<String>> =
        clusters.map(|cluster| &mut cluster.certificate_authority).collect();
    for user in config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        files.extend([&mut user.client_certificate, &mut user.client_key, &mut user.token_file]);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    for file in files.into_iter().flatten().filter(|file| !file.is_empty()) {
        // An absolute path replaces the folder.
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
    Ok(config)
}

/// Returns where a file stops being YAML, without quoting it.
fn syntax(error: &YamlError, lines_before: u64) -> String {
    match error {
        YamlError::Syntax { line, column, .. } => {
            format!("line {}, column {column}: not YAML", lines_before + line)
        }
        YamlError::TooLarge { .. } => error.to_string(),
    }
}

/// Reads the files of `KUBECONFIG`, or `~/.kube/config`; missing ones are skipped.
fn customary() -> Result<Option<Source>, ApiError> {
    let listed: Vec<PathBuf> = match env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::home_dir().into_iter().map(|home| home.join(".kube/config")).collect(),
    };
    let mut merged: Option<Source> = None;
    for path in listed {
        let is_missing = matches!(std::fs::metadata(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound);
        if is_missing {
            continue;
        }
        let next = Source::read(&path)?;
        merged = Some(match merged {
            None => next,
            Some(mut before) => {
                let path = format!("{}:{}", before.path, next.path);
                let merge = before.config.merge(next.config);
                let config = merge.map_err(|error| ApiError::Kubeconfig {
                    path: path.clone(),
                    reason: error.to_string(),
                })?;
                // The current context of one file is used with the servers of all.
                before.namers.extend(next.namers);
                Source { path, config, namers: before.namers, root: None }
            }
        });
    }
    Ok(merged)
}

/// Returns the access of a pod's service account.
fn in_cluster() -> Result<Access, ApiError> {
    let mut config = Config::incluster().map_err(|_| ApiError::NoKubeconfig {
        reason: "none in KUBECONFIG and ~/.kube/config, and kq does not run in a pod with \
                 a service account"
            .to_owned(),
    })?;
    if let Some(file) = config.auth_info.token_file.take() {
        config.auth_info.token = Some(SecretString::from(read_token(Path::new(&file))?));
    }
    let mut roots = RootCertStore::empty();
    let certificates = config.root_cert.iter().flatten().map(|der| der.clone().into());
    roots.add_parsable_certificates(certificates);
    let authorities = Authorities::signing(roots).ok_or_else(|| ApiError::NoKubeconfig {
        reason: "the service account of this pod has no certificate authority".to_owned(),
    })?;
    let tls = Some(Tls::new(Trust::Authorities(authorities), None)?);
    Ok(Access { config, tls })
}

impl Source {
    /// Reads the kubeconfig of a place; `None`: kubectl's places have none.
    fn find(place: KubeconfigPlace<'_>) -> Result<Option<Self>, ApiError> {
        match place {
            KubeconfigPlace::Named(path) => Self::read(path).map(Some),
            KubeconfigPlace::OfNode { root, path } => Self::of_node(root, path).map(Some),
            KubeconfigPlace::Usual => customary(),
        }
    }

    /// Reads a file that the operator named.
    fn read(path: &Path) -> Result<Self, ApiError> {
        let shown = path.display().to_string();
        let refuse = |reason| ApiError::Kubeconfig { path: shown.clone(), reason };
        let (file, content) = open_bounded(path).map_err(refuse)?;
        let namer = Namer::of(&file, path).map_err(|error| refuse(error.to_string()))?;
        let config = parse(path, &shown, content)?;
        Ok(Self { path: shown, config, namers: vec![namer], root: None })
    }

    /// Reads a file of the node.
    fn of_node(root: &Path, path: &str) -> Result<Self, ApiError> {
        let shown = beneath(root, Path::new(path)).display().to_string();
        let content = read_trusted(root, path, LIMIT).map_err(|error| ApiError::Kubeconfig {
            path: shown.clone(),
            reason: error.to_string(),
        })?;
        let config = parse(Path::new(path), &shown, content)?;
        Ok(Self { path: shown, config, namers: Vec::new(), root: Some(root.to_owned()) })
    }

    /// Reads a file that the kubeconfig names.
    fn named(&self, what: &'static str, path: &Path) -> Result<Vec<u8>, HttpError> {
        if let Some(root) = &self.root {
            return read_trusted(root, &path.to_string_lossy(), LIMIT)
                .map_err(|error| refuse(what, &beneath(root, path), error.to_string()));
        }
        let refuse = |reason| refuse(what, path, reason);
        let (file, content) = open_bounded(path).map_err(refuse)?;
        for namer in &self.namers {
            let reason = namer.refuses(&file).map_err(|error| refuse(error.to_string()))?;
            if let Some(reason) = reason {
                return Err(refuse(format!("not trusted: {reason}")));
            }
        }
        Ok(content)
    }

    fn refuse(&self, reason: impl Into<String>) -> ApiError {
        ApiError::Kubeconfig { path: self.path.clone(), reason: reason.into() }
    }

    fn unsupported(&self, wanted: impl Into<String>) -> ApiError {
        ApiError::Unsupported { path: self.path.clone(), wanted: wanted.into() }
    }

    /// Follows a context, or the current one, to its cluster and user.
    fn choose(&self, context: Option<&str>) -> Result<(Cluster, AuthInfo), ApiError> {
        let current = self.config.current_context.as_deref().filter(|name| !name.is_empty());
        let name = context
            .or(current)
            .ok_or_else(|| self.refuse("current-context is not set (--context names one)"))?;
        let context = self
            .config
            .contexts
            .iter()
            .find(|named| named.name == name)
            .and_then(|named| named.context.as_ref())
            .ok_or_else(|| self.refuse(format!("context {name:?} does not exist")))?;
        let cluster = self
            .config
            .clusters
            .iter()
            .find(|named| named.name == context.cluster)
            .and_then(|named| named.cluster.clone())
            .ok_or_else(|| self.refuse(format!("cluster {:?} does not exist", context.cluster)))?;
        let user = match context.user.as_deref().filter(|name| !name.is_empty()) {
            None => AuthInfo::default(),
            Some(name) => self
                .config
                .auth_infos
                .iter()
                .find(|named| named.name == name)
                .map(|named| named.auth_info.clone().unwrap_or_default())
                .ok_or_else(|| self.refuse(format!("user {name:?} does not exist")))?,
        };
        Ok((cluster, user))
    }

    fn access(&self, cluster: &Cluster, mut user: AuthInfo) -> Result<Access, ApiError> {
        let server = given(&cluster.server).ok_or_else(|| self.refuse("server is not set"))?;
        let target = Target::parse(server)?;
        if given(&cluster.proxy_url).is_some() {
            return Err(self.unsupported("a proxy (proxy-url)"));
        }
        if let Some(exec) = &user.exec {
            let command = exec.command.as_deref().unwrap_or_default();
            return Err(self.unsupported(format!("the credential plugin {command:?} run (exec)")));
        }
        if let Some(provider) = &user.auth_provider {
            let name = &provider.name;
            return Err(self.unsupported(format!("the credential plugin {name:?} (auth-provider)")));
        }
        user.token = self.token(&user)?;
        user.token_file = None;
        let is_secret = user.token.is_some() || user.password.is_some();
        if !target.is_tls && is_secret {
            return Err(HttpError::Clear { address: target.address }.into());
        }
        let tls = if target.is_tls { Some(self.tls(cluster, &user)?) } else { None };
        let url = server.parse().map_err(|_| self.refuse("server is not a URL"))?;
        let mut config = Config::new(url);
        config.auth_info = user;
        Ok(Access { config, tls })
    }

    /// Returns the token of a user; a token file takes precedence over an inline token.
    fn token(&self, user: &AuthInfo) -> Result<Option<SecretString>, ApiError> {
        let inline = user.token.as_ref().filter(|token| !token.expose_secret().is_empty());
        let read = given(&user.token_file).map(|file| {
            let file = Path::new(file);
            token(file, &self.named(TOKEN_FILE, file)?)
        });
        match (read, inline) {
            (Some(Ok(token)), _) => Ok(Some(SecretString::from(token))),
            (Some(Err(error)), None) => Err(error.into()),
            (_, Some(token)) if !token.expose_secret().bytes().all(|b| b.is_ascii_graphic()) => {
                Err(self.refuse("the user's token contains invalid characters"))
            }
            (_, token) => Ok(token.cloned()),
        }
    }

    fn tls(&self, cluster: &Cluster, user: &AuthInfo) -> Result<Tls, ApiError> {
        let is_insecure = cluster.insecure_skip_tls_verify.unwrap_or_default();
        let authority = self.pem(
            ("certificate authority", "certificate-authority-data"),
            given(&cluster.certificate_authority_data),
            given(&cluster.certificate_authority),
        )?;
        let trust = match (is_insecure, authority) {
            (true, Some(_)) => {
                let reason =
                    "insecure-skip-tls-verify and a certificate-authority exclude each other";
                return Err(self.refuse(reason));
            }
            (true, None) => Trust::Anyone,
            (false, Some((path, pem))) => Trust::Authorities(authorities(&path, &pem)?),
            (false, None) => Trust::Authorities(self.system()?),
        };
        let mut tls = Tls::new(trust, self.identity(user)?)?;
        if let Some(name) = given(&cluster.tls_server_name) {
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| self.refuse("tls-server-name is neither a name nor an address"))?;
            tls.server_name = Some(name);
        }
        Ok(tls)
    }

    /// Returns the client certificate of a user, with its key.
    fn identity(&self, user: &AuthInfo) -> Result<Option<Identity>, ApiError> {
        let certificate = self.pem(
            ("client certificate", "client-certificate-data"),
            given(&user.client_certificate_data),
            given(&user.client_certificate),
        )?;
        let key = self.pem(
            ("client key", "client-key-data"),
            user.client_key_data.as_ref().map(|key| key.expose_secret()).filter(|k| !k.is_empty()),
            given(&user.client_key),
        )?;
        match (&certificate, &key) {
            (None, None) => Ok(None),
            (Some((path, chain)), Some((key_path, key))) => {
                Ok(Some(Identity::from_pem((path, chain), (key_path, key))?))
            }
            (Some(_), None) => Err(self.refuse("the user has a client certificate without a key")),
            (None, Some(_)) => Err(self.refuse("the user has a client key without a certificate")),
        }
    }

    /// Returns PEM from the file itself, or from the file that it names, with the path for messages.
    fn pem(
        &self,
        (what, field): (&'static str, &str),
        data: Option<&str>,
        file: Option<&str>,
    ) -> Result<Option<(PathBuf, Vec<u8>)>, ApiError> {
        if let Some(data) = data {
            let data: String = data.split_ascii_whitespace().collect();
            let ByteString(pem) = serde_json::from_value(data.into())
                .map_err(|_| self.refuse(format!("{field} is not base64")))?;
            return Ok(Some((PathBuf::from(&self.path), pem)));
        }
        let Some(file) = file.map(PathBuf::from) else { return Ok(None) };
        let pem = self.named(what, &file)?;
        Ok(Some((file, pem)))
    }

    /// Returns the authorities of the system, for a kubeconfig that names none.
    fn system(&self) -> Result<Authorities, ApiError> {
        Authorities::signing(system_roots()).ok_or_else(|| self.refuse(NO_AUTHORITY))
    }
}

#[cfg(not(target_os = "macos"))]
const NO_AUTHORITY: &str = "neither it nor the system has a certificate authority";

#[cfg(target_os = "macos")]
const NO_AUTHORITY: &str = "it has no certificate authority, and kq does not read those of macOS";

#[cfg(not(target_os = "macos"))]
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Returns no authorities: the keychain is read by a library that only Apple's SDK has.
#[cfg(target_os = "macos")]
fn system_roots() -> RootCertStore {
    RootCertStore::empty()
}

/// Returns where kq finds a path of the node.
fn beneath(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.is_empty())
}
