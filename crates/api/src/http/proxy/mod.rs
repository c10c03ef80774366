//! Proxies: the one of a kubeconfig's cluster (`proxy-url`), and those of the environment.
//!
//! The connection to the server goes through a tunnel (`CONNECT`, or SOCKS 5), in which TLS is spoken with the server itself: the
//! proxy sees no request and no credentials. Also a server without TLS is reached through a tunnel.

mod environment;

pub(crate) use environment::ProxyVariables;

use crate::http::error::{HttpError, Phase};
use crate::http::exchange::{Deadline, Stream, connect, encrypt};
use crate::http::target::{Target, without_user};
use crate::http::tls::Tls;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use kq_k8s::go_text::percent_decoded;
use kq_output::credentials;
use std::future::{Ready, ready};
use std::io;
use tower::{Service, ServiceExt, service_fn};

/// What is spoken with a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    /// HTTP over TLS.
    Https,
    Socks5,
}

/// A proxy.
#[derive(Clone)]
pub(crate) struct Proxy {
    scheme: Scheme,
    host: String,
    port: u16,
    /// What messages show: `proxy.example:3128`.
    address: String,
    /// The user and the password.
    user: Option<(String, String)>,
    /// How TLS is spoken with it, where it is.
    tls: Option<Tls>,
}

impl Proxy {
    /// Reads `http://[USER:PASSWORD@]HOST[:PORT]`, or the same with `https` or `socks5`. The reason of a failure is a lowercase
    /// fragment without user and password.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{:?}: {error}", without_user(url)))?;
        let (scheme, port) = match uri.scheme_str() {
            Some("http") => (Scheme::Http, 80),
            Some("https") => (Scheme::Https, 443),
            Some("socks5" | "socks5h") => (Scheme::Socks5, 1080),
            _ => {
                let shown = without_user(url);
                return Err(format!("{shown:?}: expected http://, https:// or socks5://"));
            }
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| format!("{:?}: it has no host", without_user(url)))?;
        let authority = uri.authority().map_or("", |it| it.as_str());
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let port = match place[host.len()..].strip_prefix(':') {
            None | Some("") => port,
            Some(given) => match given.parse() {
                Ok(port) if port != 0 => port,
                _ => return Err(format!("{:?}: there is no such port", without_user(url))),
            },
        };
        let user = user.map(|user| {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            (decoded(user), decoded(password))
        });
        Ok(Self {
            scheme,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            address: format!("{host}:{port}"),
            user,
            tls: None,
        })
    }

    /// Returns true if TLS is spoken with the proxy.
    pub(crate) fn is_tls(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// Sets how TLS is spoken with the proxy.
    pub(crate) fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Connects to a server.
    pub(super) async fn connect(
        &self,
        target: &Target,
        deadline: &Deadline,
    ) -> Result<Box<dyn Stream>, HttpError> {
        let refuse = |reason: String| HttpError::Proxy {
            address: target.address.clone(),
            proxy: self.address.clone(),
            reason,
        };
        if let Some((_, password)) = &self.user {
            credentials::sent(password);
        }
        let connection = connect((&self.host, self.port), &self.address, deadline).await?;
        let mut stream: Box<dyn Stream> = Box::new(connection);
        if self.is_tls() {
            let host = (self.host.as_str(), self.address.as_str());
            stream = encrypt(stream, self.tls.as_ref(), host, deadline).await?;
        }
        let server = format!("https://{}", target.address);
        let server: Uri = server.parse().map_err(|error| refuse(format!("{error}")))?;
        // Both are made for connectors; this one has its connection already, and ignores the address.
        let proxy = Uri::from_static("http://proxy");
        let connected = Connected(Some(stream));
        let tunnel = async {
            match self.scheme {
                Scheme::Http | Scheme::Https => {
                    let tunnel = Tunnel::new(proxy, connected.into_service());
                    let tunnel = match self.authorization() {
                        Some(authorization) => tunnel.with_auth(authorization),
                        None => tunnel,
                    };
                    tunnel.oneshot(server).await.map_err(|error| reason(&error))
                }
                Scheme::Socks5 => {
                    let socks = SocksV5::new(proxy, connected.into_service());
                    let socks = match self.user.clone() {
                        Some((user, password)) => socks.with_auth(user, password),
                        None => socks,
                    };
                    socks.oneshot(server).await.map_err(|error| reason(&error))
                }
            }
        };
        let tunnel = deadline.within(&self.address, Phase::Connect, tunnel).await?;
        tunnel.map(TokioIo::into_inner).map_err(refuse)
    }

    /// Returns the header with user and password.
    fn authorization(&self) -> Option<HeaderValue> {
        let (user, password) = self.user.as_ref()?;
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        HeaderValue::from_str(&format!("Basic {encoded}")).ok()
    }
}

/// A connection, as hyper reads and writes it.
type Io = TokioIo<Box<dyn Stream>>;

type Opened = Ready<io::Result<Io>>;

/// A connection, for one use.
struct Connected(Option<Box<dyn Stream>>);

impl Connected {
    fn into_service(
        mut self,
    ) -> impl Service<Uri, Response = Io, Error = io::Error, Future = Opened> {
        service_fn(move |_| {
            let connection = self.0.take().map(TokioIo::new);
            ready(connection.ok_or_else(|| io::Error::other("the connection is in use")))
        })
    }
}

/// Returns the reason for which there is no tunnel.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(error) = error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        return kq_io::input::plain(error);
    }
    let text = error.to_string();
    let text = text.trim_start_matches("tunnel error: ");
    match text {
        "unsuccessful" => "it refused the tunnel".to_owned(),
        "proxy authorization required" => {
            "it does not accept the user and the password of the URL".to_owned()
        }
        "unexpected end of file" => "it closed the connection".to_owned(),
        text => text.to_lowercase(),
    }
}

/// Returns a user or a password as it is meant: `%40` is `@`.
fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(text.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_proxies() {
        for (url, scheme, address, user) in [
            ("http://proxy", Scheme::Http, "proxy:80", None),
            ("http://proxy:3128/", Scheme::Http, "proxy:3128", None),
            ("https://proxy", Scheme::Https, "proxy:443", None),
            ("socks5://[::1]:9", Scheme::Socks5, "[::1]:9", None),
            ("socks5h://proxy", Scheme::Socks5, "proxy:1080", None),
            ("http://me:a%40b%@proxy:1", Scheme::Http, "proxy:1", Some(("me", "a@b%"))),
            ("http://me@proxy:1", Scheme::Http, "proxy:1", Some(("me", ""))),
        ] {
            let proxy = Proxy::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!((proxy.scheme, proxy.address.as_str()), (scheme, address), "{url}");
            let found = proxy.user.as_ref().map(|(user, password)| (&**user, &**password));
            assert_eq!(found, user, "{url}");
        }
    }

    #[test]
    fn what_names_no_proxy_is_refused_without_its_password() {
        for (url, expected) in [
            ("", "empty string"),
            ("proxy:3128", "expected http://"),
            ("ftp://me:hunter2@proxy", "expected http://"),
            ("http://me:hunter2@proxy:0", "there is no such port"),
            ("http://me:hunter2@proxy:99999", "there is no such port"),
            ("http://me:hunter2@", ""),
            ("http://me:hunter2@pro xy", "invalid uri character"),
        ] {
            let Err(reason) = Proxy::parse(url) else { panic!("{url}") };
            assert!(reason.contains(expected), "{url}: {reason}");
            assert!(!reason.contains("hunter2"), "{url}: {reason}");
        }
    }
}
