//! Why the API server did not answer.

use crate::http::HttpError;
use kq_answer::Failure;
use std::borrow::Cow;

/// Why there is no answer. No variant contains a token, a password or a key.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The feature `apiserver` is off.
    #[error("this kq was built without the API server")]
    NotBuilt,
    /// No kubeconfig names an API server.
    #[error("no kubeconfig: {reason}")]
    NoKubeconfig {
        /// The places that were searched.
        reason: String,
    },
    /// The kubeconfig cannot be used.
    #[error("cannot use kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file, or the files.
        path: String,
        /// The error.
        reason: String,
    },
    /// The kubeconfig requires something that kq does not support.
    #[error("kubeconfig {path} requires {wanted}, which kq does not support")]
    Unsupported {
        /// The file, or the files.
        path: String,
        /// The requirement.
        wanted: String,
    },
    /// The environment names a proxy that cannot be used.
    #[error("cannot use the proxy of {variable}: {reason}")]
    Proxy {
        /// `HTTPS_PROXY`
        variable: &'static str,
        /// The error, without user and password.
        reason: String,
    },
    /// Groups, a UID or other properties of a user are impersonated, and no user.
    #[error("no user is impersonated, and a group, a UID or extra fields are")]
    NoImpersonatedUser,
    /// The credential plugin may not be run.
    #[error("credential plugin {command:?} of kubeconfig {path} is not run: {reason}")]
    PluginRefused {
        /// The file, or the files.
        path: String,
        /// The plugin, as the kubeconfig names it.
        command: String,
        /// The file that is not trusted.
        reason: String,
        /// The remedy.
        hint: &'static str,
    },
    /// The credential plugin gave nothing.
    #[error("credential plugin {command:?} of kubeconfig {path} {reason}")]
    Plugin {
        /// The file, or the files.
        path: String,
        /// The plugin, as the kubeconfig names it.
        command: String,
        /// What happened, without anything that the plugin wrote.
        reason: String,
        /// Where the plugin comes from, as the kubeconfig says.
        hint: Option<String>,
    },
    /// A node cannot have that name.
    #[error("invalid node name {name:?}")]
    NodeName { name: String },
    /// A pod cannot have that name.
    #[error("invalid pod name {name:?}{}", namespace.as_ref().map(|it| format!(" in namespace {it:?}")).unwrap_or_default())]
    PodName {
        /// The namespace, where one is named.
        namespace: Option<String>,
        name: String,
    },
    /// It was skipped.
    #[error("not requested, because {count} earlier lists got no answer")]
    Silent {
        /// How many lists in a row got none.
        count: usize,
    },
    /// The answer is not a success.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The answer is not the requested object.
    #[error("{url} answered {method} {path} with {reason}")]
    Unexpected {
        /// The server.
        url: String,
        /// The method: `GET`.
        method: String,
        /// The requested path.
        path: String,
        /// The actual answer.
        reason: String,
    },
}

impl ApiError {
    /// Returns the error with its hint, in one line.
    pub fn reason(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self} ({hint})"),
            None => self.to_string(),
        }
    }

    /// Returns the status code of an answer that was not a success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Http(error) => error.status(),
            _ => None,
        }
    }

    /// Returns the remedy, if known: a sentence.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        if let Self::Plugin { hint: Some(hint), .. } = self {
            return Some(Cow::Owned(hint.clone()));
        }
        self.fixed_hint().map(Cow::Borrowed)
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        let hint = match self {
            Self::NotBuilt => "build kq with its feature apiserver, or pass pods from a file",
            Self::NoKubeconfig { .. } => "name a kubeconfig with --kubeconfig or KUBECONFIG",
            Self::Unsupported { .. } => {
                "use a credential plugin (exec), a token or a client certificate, or pass pods from a \
                 file: kubectl get pods -A -o json"
            }
            Self::NoImpersonatedUser => "name the user with --as, or with as in the kubeconfig",
            Self::PluginRefused { hint, .. } => hint,
            Self::Http(HttpError::Proxy { .. }) => {
                "check proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY"
            }
            Self::Http(HttpError::Clear { .. }) => {
                "use an https:// server in the kubeconfig, or remove the credentials from it"
            }
            Self::Http(HttpError::Tls { .. } | HttpError::OtherCertificate { .. }) => {
                "check certificate-authority, tls-server-name and the client certificate in the \
                 kubeconfig"
            }
            Self::Http(HttpError::Status { code, path, refusal, .. }) => match code {
                401 => {
                    "the API server does not accept the kubeconfig's token or certificate: it \
                        may have expired"
                }
                403 if path.contains("/events") => {
                    "the kubeconfig's user needs the verb list on events, in the pod's namespace or all"
                }
                403 if path.contains("/poddisruptionbudgets") => {
                    "the kubeconfig's user needs the verb list on poddisruptionbudgets (policy) in all namespaces"
                }
                403 if path.contains("/namespaces/") && path.contains("/pods?") => {
                    "the kubeconfig's user needs the verb list on pods in the namespace"
                }
                403 if path.contains("/namespaces/") => {
                    return Some(permission(&refusal.method, path));
                }
                403 if path.contains("/pods") => {
                    "the kubeconfig's user needs the verb list on pods in all namespaces"
                }
                403 if path.contains("/nodes/") => {
                    "the kubeconfig's user needs the verb get on the node"
                }
                403 => "the kubeconfig's user needs the verb list on nodes",
                404 if path.contains("/nodes/") => {
                    "check the node's name: kubectl get nodes; or the kubeconfig's server"
                }
                404 => "check that the kubeconfig's server is an API server",
                429 => "the API server is busy: pass a longer --timeout, or retry later",
                _ => return None,
            },
            _ => return None,
        };
        Some(hint)
    }
}

/// Returns the permission that a request about a single pod needs.
fn permission(method: &str, path: &str) -> &'static str {
    match method {
        "POST" if path.contains("/eviction") => {
            "the kubeconfig's user needs the verb create on pods/eviction in the pod's namespace, and \
             admission may still forbid it"
        }
        "POST" => {
            "the kubeconfig's user needs the verb create on pods in the namespace; a quota or admission may \
             still refuse them"
        }
        "DELETE" => "the kubeconfig's user needs the verb delete on pods in the pod's namespace",
        _ => "the kubeconfig's user needs the verb get on pods in the pod's namespace",
    }
}

impl From<ApiError> for Failure {
    /// A name that cannot exist is a mistake; any other error is a missing fact.
    fn from(error: ApiError) -> Self {
        let hint = error.hint();
        let failure = match error {
            ApiError::NodeName { .. } | ApiError::PodName { .. } | ApiError::NoImpersonatedUser => {
                Self::usage(error)
            }
            _ => Self::missing(error),
        };
        hint.into_iter().fold(failure, Self::hint)
    }
}
