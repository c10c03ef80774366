//! Redirects (`Client.do`, `redirectBehavior`, `makeHeadersCopier` and `refererForURL` of
//! `net/http/client.go`; `redirectChecker`, `pkg/probe/http/http.go`).
//!
//! Go drops headers on a redirect to another domain; the kubelet does not follow such a redirect.

use super::headers::Headers;
use super::request::{HttpProbeRequest, failure_text};
use super::url::Url;
use kq_k8s::go_text::quote_bytes;

/// How many requests are made at most.
const MAX_REQUESTS: usize = 10;

/// What the client does with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The answer is the result.
    Final,
    /// Another request is made.
    Next(Box<HttpProbeRequest>),
    /// The probe fails, with this whole text.
    Failed(String),
}

/// What is remembered from the first request on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    headers: Headers,
    /// The name of its host.
    hostname: Vec<u8>,
    /// How many requests were made before this one.
    made: usize,
    /// Whether every redirect so far would have sent a body again.
    keeps_body: bool,
    /// Redirects are answers like all others, as for programs that do not follow them.
    stays: bool,
}

impl Chain {
    pub(super) fn start(url: &Url, headers: &Headers) -> Self {
        let hostname = url.hostname().to_owned();
        Self { headers: headers.clone(), hostname, made: 0, keeps_body: true, stays: false }
    }
}

impl HttpProbeRequest {
    /// Returns the same request without following redirects, as the kubelet does.
    pub fn without_redirects(mut self) -> Self {
        self.chain.stays = true;
        self
    }

    /// Returns the client's reaction to a response with a status and Location.
    pub fn follow(&self, status: u16, location: Option<&[u8]>) -> Follow {
        if self.chain.stays {
            return Follow::Final;
        }
        let keeps_body = match status {
            301..=303 => false,
            307 | 308 => true,
            _ => return Follow::Final,
        };
        let Some(location @ [_, ..]) = location else { return Follow::Final };
        let url = match self.url.join(location) {
            Ok(url) => url,
            Err(error) => {
                let location = quote_bytes(location);
                let cause = format!("failed to parse Location header {location}: {error}");
                return Follow::Failed(self.failure_text(&cause));
            }
        };
        if url.hostname() != self.chain.hostname {
            return Follow::Final;
        }
        let made = self.chain.made + 1;
        if made >= MAX_REQUESTS {
            return Follow::Failed(failure_text(location, "stopped after 10 redirects"));
        }
        let chain =
            Chain { made, keeps_body: self.chain.keeps_body && keeps_body, ..self.chain.clone() };
        let headers = self.headers_for(&url, &chain);
        let host = if self.keeps_host(location) { self.host.clone() } else { Vec::new() };
        Follow::Next(Box::new(Self { url, host, headers, chain }))
    }

    /// Returns true if the Host header of the probe is sent again: not after a redirect with a host.
    fn keeps_host(&self, location: &[u8]) -> bool {
        self.host != self.url.host
            && Url::parse(location).is_ok_and(|reference| reference.scheme.is_empty())
    }

    /// Returns the headers of the first request, with where this one comes from.
    fn headers_for(&self, url: &Url, chain: &Chain) -> Headers {
        const ABOUT_THE_BODY: [&str; 4] =
            ["Content-Encoding", "Content-Language", "Content-Location", "Content-Type"];
        let mut headers = chain.headers.clone();
        headers.retain(|name| chain.keeps_body || !ABOUT_THE_BODY.contains(&name));
        if self.url.scheme == b"https" && url.scheme == b"http" {
            return headers;
        }
        let referer = match headers.first("Referer") {
            [] => self.url.without_user(),
            given => given.to_owned(),
        };
        if !referer.is_empty() {
            headers.set("Referer", &referer);
        }
        headers
    }
}

#[cfg(test)]
mod tests;
