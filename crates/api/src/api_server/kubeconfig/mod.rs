//! Reads a kubeconfig: the server, its authorities, and the client's credentials.
//!
//! The rules are kubectl's (`tools/clientcmd/client_config.go` of client-go): data in the file takes precedence
//! over a path, a token file over a token, any other credential over a credential plugin, and paths are relative to the file.
//!
//! A kubeconfig decides to which server a secret is sent, and may name a program. So it may name only files of its own owner,
//! or of root if it is trusted itself: another user's kubeconfig could send root's files away. A program it may name only if it
//! is the operator's own ([`Namer::refuses_programs`](kq_io::trust::Namer::refuses_programs)).

mod files;
mod in_cluster;
mod named_files;
mod tls;

pub(super) use named_files::NamedFiles;
pub(super) use tls::ServerTls;

use crate::api_server::credentials::{Credentials, TokenFile, basic, bearer};
use crate::api_server::plugin::{Plugin, PluginCluster};
use crate::api_server::{ApiError, KubeconfigChoice, KubeconfigPlace};
use crate::http::proxy::{Proxy, ProxyVariables};
use crate::http::tls::{Identity, Tls};
use crate::http::{HttpError, Target};
use crate::kubelet_api::ClientCertificate;
use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig};
use secrecy::ExposeSecret;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The access to a server.
pub(super) struct Access {
    /// The address of the server, and who is impersonated.
    pub(super) config: Config,
    pub(super) credentials: Credentials,
    pub(super) proxy: Option<Proxy>,
    /// How a server that speaks TLS is known.
    server: Option<ServerTls>,
    /// TLS with the client certificate of the kubeconfig, if it has one.
    tls: Option<Tls>,
    /// TLS with the client certificate of a plugin, and which of its runs that is from.
    of_plugin: Mutex<Option<(u64, Tls)>>,
}

/// A kubeconfig and the name that it has in messages.
struct Source {
    path: String,
    config: Kubeconfig,
    /// The files that it may name.
    files: NamedFiles,
    /// Why it may not name a program; `None`: it may.
    no_programs: Option<NoPrograms>,
}

/// Why a kubeconfig may not name a program.
struct NoPrograms {
    /// A lowercase fragment.
    reason: String,
    hint: &'static str,
}

/// Reads the named kubeconfig, else those of kubectl, else the service account of kq's pod. `deadline` is the time limit of a
/// request.
pub(super) fn read(
    place: KubeconfigPlace<'_>,
    choice: &KubeconfigChoice,
    deadline: Duration,
) -> Result<Access, ApiError> {
    let Some(source) = Source::find(place)? else { return in_cluster::in_cluster(choice) };
    let (cluster, user) = source.choose(choice)?;
    source.access(&cluster, impersonation(user, choice), deadline)
}

/// Returns the client certificate of a kubeconfig, which kubelets of its cluster may accept, too; `None`: it has none.
/// Fails for a file that cannot be read, and a context that it does not have.
pub fn client_certificate(
    place: KubeconfigPlace<'_>,
    choice: &KubeconfigChoice,
) -> Result<Option<ClientCertificate>, ApiError> {
    let Some(source) = Source::find(place)? else { return Ok(None) };
    let (_, user) = source.choose(choice)?;
    Ok(source.identity(&user)?.map(ClientCertificate))
}

/// Puts what is said on the command line over the impersonation of a kubeconfig.
fn impersonation(mut user: AuthInfo, choice: &KubeconfigChoice) -> AuthInfo {
    let KubeconfigChoice { act_as, act_as_groups, act_as_uid, .. } = choice;
    let said = |over: &Option<String>, own: Option<String>| {
        over.clone().or(own).filter(|name| !name.is_empty())
    };
    user.impersonate = said(act_as, user.impersonate.take());
    user.impersonate_uid = said(act_as_uid, user.impersonate_uid.take());
    if !act_as_groups.is_empty() {
        user.impersonate_groups = Some(act_as_groups.clone());
    }
    user
}

impl Access {
    fn new(
        config: Config,
        server: Option<ServerTls>,
        identity: Option<Identity>,
        credentials: Credentials,
        proxy: Option<Proxy>,
    ) -> Result<Self, ApiError> {
        let user = &config.auth_info;
        let has_groups = user.impersonate_groups.as_ref().is_some_and(|it| !it.is_empty());
        let has_extra = user.impersonate_user_extra.as_ref().is_some_and(|it| !it.is_empty());
        let is_partial = user.impersonate_uid.is_some() || has_groups || has_extra;
        if user.impersonate.is_none() && is_partial {
            return Err(ApiError::NoImpersonatedUser);
        }
        let tls = server.as_ref().map(|server| server.with(identity)).transpose()?;
        let of_plugin = Mutex::new(None);
        Ok(Self { config, credentials, proxy, server, tls, of_plugin })
    }

    /// Returns how TLS is spoken with the client certificate of a run of the plugin, if it gave one.
    pub(super) fn tls(
        &self,
        run: u64,
        identity: Option<&Identity>,
    ) -> Result<Option<Tls>, ApiError> {
        let (Some(server), Some(identity)) = (&self.server, identity) else {
            return Ok(self.tls.clone());
        };
        let mut held = self.of_plugin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, tls)) = &*held
            && *of == run
        {
            return Ok(Some(tls.clone()));
        }
        let tls = server.with(Some(identity.clone()))?;
        *held = Some((run, tls.clone()));
        Ok(Some(tls))
    }
}

impl ServerTls {
    /// Returns how TLS is spoken with the server.
    fn with(&self, identity: Option<Identity>) -> Result<Tls, HttpError> {
        let mut tls = Tls::new(self.trust.clone(), identity)?;
        tls.server_name.clone_from(&self.name);
        Ok(tls)
    }
}

impl Source {
    fn refuse(&self, reason: impl Into<String>) -> ApiError {
        ApiError::Kubeconfig { path: self.path.clone(), reason: reason.into() }
    }

    /// Follows the chosen context, or the current one, to its cluster and user, unless others are chosen.
    fn choose(&self, choice: &KubeconfigChoice) -> Result<(Cluster, AuthInfo), ApiError> {
        let name = choice.context.as_deref().or(self.config.current_context.as_deref());
        let context = match name {
            Some(name) => {
                let context = self.config.contexts.iter().find(|named| named.name == name);
                let context = context.and_then(|named| named.context.clone());
                context.ok_or_else(|| self.refuse(format!("context {name:?} does not exist")))?
            }
            None if choice.cluster.is_some() => Context::default(),
            None => {
                return Err(self.refuse("current-context is not set (--context names one)"));
            }
        };
        let name = choice.cluster.as_ref().unwrap_or(&context.cluster);
        let cluster = self.config.clusters.iter().find(|named| named.name == *name);
        let cluster = cluster
            .and_then(|named| named.cluster.clone())
            .ok_or_else(|| self.refuse(format!("cluster {name:?} does not exist")))?;
        let user = match given(&choice.user).or(given(&context.user)) {
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

    fn access(
        &self,
        cluster: &Cluster,
        user: AuthInfo,
        deadline: Duration,
    ) -> Result<Access, ApiError> {
        let server = given(&cluster.server).ok_or_else(|| self.refuse("server is not set"))?;
        let target = Target::parse(server)?;
        let (tls, authority) = match target.is_tls {
            true => self.tls(cluster).map(|(tls, authority)| (Some(tls), authority))?,
            false => (None, None),
        };
        let identity = if target.is_tls { self.identity(&user)? } else { None };
        let credentials = match self.credentials(&user)? {
            // Any other credential comes before the plugin.
            Credentials::Fixed(None) if identity.is_none() => {
                self.plugin(cluster, &user, authority, deadline)?
            }
            credentials => credentials,
        };
        if !target.is_tls && credentials.are_some() {
            return Err(HttpError::Clear { address: target.address }.into());
        }
        let proxy = match given(&cluster.proxy_url) {
            Some(url) => {
                Some(proxy(url, tls.as_ref(), |reason| self.refuse(format!("proxy-url {reason}")))?)
            }
            None => proxy_of_environment(&target, tls.as_ref())?,
        };
        let url = server.parse().map_err(|_| self.refuse("server is not a URL"))?;
        let mut config = Config::new(url);
        config.auth_info = AuthInfo {
            impersonate: user.impersonate,
            impersonate_uid: user.impersonate_uid,
            impersonate_groups: user.impersonate_groups,
            impersonate_user_extra: user.impersonate_user_extra,
            ..AuthInfo::default()
        };
        Access::new(config, tls, identity, credentials, proxy)
    }

    /// Returns the credentials of a user that the kubeconfig has itself.
    fn credentials(&self, user: &AuthInfo) -> Result<Credentials, ApiError> {
        let token = user.token.as_ref().map(ExposeSecret::expose_secret);
        let token = token.filter(|token| !token.is_empty());
        let invalid = || self.refuse("the user's token contains invalid characters");
        let token = token.map(|token| bearer(token).ok_or_else(invalid)).transpose();
        let name = given(&user.username);
        let password = user.password.as_ref().map_or("", |it| it.expose_secret());
        let has_password = name.is_some() || !password.is_empty();
        let file = given(&user.token_file).map(PathBuf::from);
        if has_password && (file.is_some() || !matches!(token, Ok(None))) {
            return Err(self.refuse("the user has a token and a password, and may have only one"));
        }
        if has_password {
            return Ok(Credentials::Fixed(Some(basic(name.unwrap_or_default(), password))));
        }
        match file {
            // The file counts, and the token where there is no file.
            Some(file) => {
                let token = TokenFile::new(self.files.clone(), file, token.ok().flatten());
                Ok(Credentials::TokenFile(token?))
            }
            None => token.map(Credentials::Fixed),
        }
    }

    /// Returns the credential plugin of a user, which is not run yet.
    fn plugin(
        &self,
        cluster: &Cluster,
        user: &AuthInfo,
        authority: Option<Vec<u8>>,
        deadline: Duration,
    ) -> Result<Credentials, ApiError> {
        if let Some(provider) = &user.auth_provider {
            let wanted = format!("the credential plugin {:?} (auth-provider)", provider.name);
            return Err(ApiError::Unsupported { path: self.path.clone(), wanted });
        }
        let Some(exec) = &user.exec else { return Ok(Credentials::Fixed(None)) };
        if let Some(NoPrograms { reason, hint }) = &self.no_programs {
            return Err(ApiError::PluginRefused {
                path: self.path.clone(),
                command: exec.command.clone().unwrap_or_default(),
                reason: reason.clone(),
                hint,
            });
        }
        let cluster = exec.provide_cluster_info.then_some(PluginCluster { cluster, authority });
        let plugin = Plugin::of(exec, cluster, &self.path, deadline)?;
        Ok(Credentials::Plugin(plugin))
    }
}

/// Reads the URL of a proxy.
fn proxy(
    url: &str,
    server: Option<&ServerTls>,
    refuse: impl Fn(String) -> ApiError,
) -> Result<Proxy, ApiError> {
    let proxy = Proxy::parse(url).map_err(&refuse)?;
    match (proxy.is_tls(), server) {
        (false, _) => Ok(proxy),
        // The certificate of the proxy is checked as the server's is, as in Go; it gets no client certificate.
        (true, Some(server)) => Ok(proxy.with_tls(Tls::new(server.trust.clone(), None)?)),
        (true, None) => {
            Err(refuse("names an https:// proxy, and the server has no TLS".to_owned()))
        }
    }
}

/// Returns the proxy that the environment names for a server.
fn proxy_of_environment(
    target: &Target,
    server: Option<&ServerTls>,
) -> Result<Option<Proxy>, ApiError> {
    let Some((variable, url)) = ProxyVariables::of_environment().proxy_for(target) else {
        return Ok(None);
    };
    proxy(&url, server, |reason| ApiError::Proxy { variable, reason }).map(Some)
}

fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.is_empty())
}
