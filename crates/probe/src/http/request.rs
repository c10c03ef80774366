//! The request of an HTTP probe (`NewRequestForHTTPGetAction` and `formatURL`,
//! `pkg/probe/http/request.go`), and the errors of Go's client (`net/http/client.go`).

use super::headers::Headers;
use super::redirect::Chain;
use super::url::{ParseUrlError, Url, join_host_port};
use crate::{PortError, resolve_port};
use kq_k8s::go_text::quote_bytes;
use kq_k8s::pod::{ContainerPort, HttpGetAction};

/// The request of a probe, before it is known whether it can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpProbeRequest {
    pub(super) url: Url,
    /// What the Host header says; empty for the host of the URL.
    pub(super) host: Vec<u8>,
    pub(super) headers: Headers,
    pub(super) chain: Chain,
}

/// Why there is no request. The texts are the kubelet's, which calls them errors of the prober; only a
/// withheld header is kq's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// There is no port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Host, scheme and port do not make a URL.
    #[error(transparent)]
    Url(#[from] ParseUrlError),
    /// The kubelet knows the value of a header, kq does not.
    #[error("the value of the header {name} is not known")]
    HeaderWithheld {
        /// The header, as it was written.
        name: String,
    },
}

/// Makes the request of a probe; `user_agent` is what the kubelet calls itself: `kube-probe/1.36`.
/// Fails where the kubelet fails, and where a header is not known.
pub fn build_request(
    action: &HttpGetAction,
    ports: &[ContainerPort],
    pod_ip: &str,
    user_agent: &str,
) -> Result<HttpProbeRequest, BuildError> {
    let port = resolve_port(&action.port, ports)?;
    let host = if action.host.is_empty() { pod_ip } else { &action.host };
    let url = Url::parse(&format_url(&action.scheme, host, port, &action.path).text())?;
    let headers = headers(action, user_agent)?;
    let host = headers.first("Host").to_owned();
    let chain = Chain::start(&url, &headers);
    Ok(HttpProbeRequest { url, host, headers, chain })
}

/// Puts a URL together. A path is read as a reference, so that it may have a query; one that is no reference
/// is taken as nothing but a path.
fn format_url(scheme: &str, host: &str, port: u16, path: &str) -> Url {
    let mut url = Url::parse(path.as_bytes()).unwrap_or_else(|_| Url::of_path(path.as_bytes()));
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    // Go turns each character into one, so that no character becomes several.
    let scheme: String = scheme.chars().filter_map(|c| c.to_lowercase().next()).collect();
    url.scheme = scheme.into_bytes();
    url.host = join_host_port(host.as_bytes(), port.to_string().as_bytes());
    url
}

fn headers(action: &HttpGetAction, user_agent: &str) -> Result<Headers, BuildError> {
    let mut headers = Headers::default();
    for header in &action.http_headers {
        if header.value_withheld {
            return Err(BuildError::HeaderWithheld { name: header.name.clone() });
        }
        headers.add(&header.name, header.value.as_bytes());
    }
    if !headers.has("User-Agent") {
        headers.set("User-Agent", user_agent.as_bytes());
    }
    if !headers.has("Accept") {
        headers.set("Accept", b"*/*");
    } else if headers.first("Accept").is_empty() {
        // Asked for by an empty value: no such header.
        headers.remove("Accept");
    }
    Ok(headers)
}

impl HttpProbeRequest {
    /// Returns the URL as errors show it: with `***` for a password.
    pub fn url_text(&self) -> String {
        String::from_utf8_lossy(&self.url.redacted()).into_owned()
    }

    /// Returns the URL with its password.
    pub fn url_with_password(&self) -> String {
        String::from_utf8_lossy(&self.url.text()).into_owned()
    }

    /// Returns what the probe says when its request failed: `Get "URL": CAUSE`.
    pub fn failure_text(&self, cause: &str) -> String {
        failure_text(&self.url.redacted(), cause)
    }
}

/// Returns the text of an error of the client (`url.Error`).
pub(super) fn failure_text(url: &[u8], cause: &str) -> String {
    format!("Get {}: {cause}", quote_bytes(url))
}

#[cfg(test)]
mod tests;
