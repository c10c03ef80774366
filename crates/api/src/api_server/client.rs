//! The client of the API server: kube's client over kq's own transport.
//!
//! kube supplies the base URL and the headers of impersonation. The transport adds the credentials, a
//! deadline over everything, TLS with ring, and errors that name the phase of the failure. kube's
//! own transport has a default TLS provider and no deadline for a body, and its credential plugins have no limits.
//!
//! The time that a credential plugin takes is not part of a deadline: it runs before the request.

use crate::api_server::credentials::Current;
use crate::api_server::kubeconfig::{self, Access};
use crate::api_server::page::List;
use crate::api_server::page::{check_kind, is_node_name, next};
use crate::api_server::status::in_words;
use crate::api_server::{ApiError, KubeconfigChoice, KubeconfigPlace};
use crate::http::{Deadline, Exchange, HttpError, MAX_BODY, Redaction, Target, run};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use kq_facts::timestamp::Timestamp;
use kube::Client;
use kube::client::{Body, ConfigExt};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tower::{BoxError, Layer, service_fn};

/// The most objects in one page: as kubectl requests.
const LIMIT: u32 = 500;

/// The shortest wait before a retry, whatever the server requests.
pub(super) const SHORTEST_WAIT: Duration = Duration::from_millis(100);

pub struct ApiServer {
    access: Access,
    url: String,
    deadline: Duration,
    /// The server's clock at its last answer, in seconds since 1970; 0: unknown.
    clock: Arc<AtomicI64>,
}

impl fmt::Debug for ApiServer {
    /// Shows the address without the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Finds the API server: reads the named kubeconfig, else those of kubectl
/// (`KUBECONFIG`, `~/.kube/config`), else the service account of kq's pod.
///
/// Nothing is sent yet, and no credential plugin is run. The deadline applies to each later request for a single object.
/// Fails if there is no kubeconfig, or none that kq supports.
pub fn connect(
    kubeconfig: KubeconfigPlace<'_>,
    choice: &KubeconfigChoice,
    deadline: Duration,
) -> Result<ApiServer, ApiError> {
    let access = kubeconfig::read(kubeconfig, choice, deadline)?;
    let url = access.config.cluster_url.to_string();
    Ok(ApiServer { access, url, deadline, clock: Arc::default() })
}

impl ApiServer {
    /// Returns where the API server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns it as the source of a fact.
    pub fn source(&self) -> String {
        format!("the API server {}", self.url)
    }

    /// Returns the time limit of a request for a single object.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the pods of a node: unparsed pages of JSON, each a `PodList`.
    ///
    /// If the continuation of a list expires, the list is requested again in one page. The deadline is
    /// for all of it. It must not be called from asynchronous code.
    /// Fails unless all pods arrived.
    pub fn pods_of_node(&self, node: &str, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.pods_of_node_within(node, deadline, MAX_BODY)
    }

    /// Returns the pods of a node as [`pods_of_node`](Self::pods_of_node) does, if all pages together have at most `limit`
    /// bytes.
    pub(super) fn pods_of_node_within(
        &self,
        node: &str,
        deadline: Duration,
        limit: u64,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check_name(node)?;
        self.list_within(&List::pods_of_node(node), deadline, limit)
    }

    /// Returns a list: pages of JSON, as they came.
    pub(super) fn list(&self, list: &List, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        self.list_within(list, deadline, MAX_BODY)
    }

    fn list_within(
        &self,
        list: &List,
        deadline: Duration,
        limit: u64,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        self.call(deadline, async |call| call.pages(list, limit).await)
    }

    /// Does the work of one call, for which there is this much time. Where the server does not accept the credentials (401), they
    /// are renewed, and the work is done once more: such a server has done nothing. It must not be called from asynchronous code.
    pub(super) fn call<T>(
        &self,
        time: Duration,
        work: impl AsyncFn(Call<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let credentials = &self.access.credentials;
        let current = credentials.current()?;
        let done = self.call_as(&current, time, &work);
        let is_refused = done.as_ref().err().and_then(ApiError::status) == Some(401);
        match is_refused && credentials.renew(&current)? {
            true => self.call_as(&credentials.current()?, time, &work),
            false => done,
        }
    }

    fn call_as<T>(
        &self,
        current: &Current,
        time: Duration,
        work: &impl AsyncFn(Call<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let done = run(async {
            let deadline = Deadline::after(time);
            let client = self.client(current, deadline)?;
            work(Call { server: self, client, deadline }).await
        });
        // Any other answer is one to a known client.
        let status = done.as_ref().err().map(ApiError::status);
        if status.is_none_or(|status| status.is_some_and(|code| code != 401)) {
            self.access.credentials.accepted(current);
        }
        done
    }

    /// Returns the credentials that a plugin gave, for another process of kq; empty: there is no plugin.
    /// Fails if the plugin gives none.
    pub fn lend(&self) -> Result<Vec<u8>, ApiError> {
        self.access.credentials.plugin().map_or(Ok(Vec::new()), |plugin| plugin.lend())
    }

    /// Takes the credentials that another process of kq lent. The plugin is run once they have expired, or are not accepted.
    pub fn borrow(&self, lent: &[u8]) {
        if let Some(plugin) = self.access.credentials.plugin() {
            plugin.borrow(lent);
        }
    }

    /// Returns a node as unparsed JSON. It must not be called from asynchronous code.
    /// Fails unless it arrived before the deadline that [`connect`] was given.
    pub fn node(&self, name: &str) -> Result<Vec<u8>, ApiError> {
        check_name(name)?;
        let path = format!("/api/v1/nodes/{name}");
        let answer = self.call(self.deadline, async |call| call.ask(&path, MAX_BODY).await)?;
        check_kind(&answer, "Node").map_err(|reason| self.unexpected(&path, reason))?;
        Ok(answer)
    }

    /// Returns the time on the server's clock at its last answer, to the second; `None`: unknown.
    pub fn clock(&self) -> Option<Timestamp> {
        let seconds = self.clock.load(Ordering::Relaxed);
        (seconds != 0).then(|| Timestamp::from_seconds(seconds))
    }

    /// Returns kube's client for one call with these credentials.
    fn client(&self, current: &Current, deadline: Deadline) -> Result<Client, ApiError> {
        let Access { config, proxy, .. } = &self.access;
        let tls = self.access.tls(current.run, current.identity.as_deref())?;
        let (proxy, clock) = (proxy.clone(), Arc::clone(&self.clock));
        let authorization = current.authorization.clone();
        let transport = service_fn(move |request: Request<Body>| {
            let (tls, proxy, clock) = (tls.clone(), proxy.clone(), Arc::clone(&clock));
            let authorization = authorization.clone();
            async move {
                let (mut head, body) = request.into_parts();
                head.headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
                let body = body.collect_bytes().await?;
                let target = Target::of(&head.uri)?;
                let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
                let exchange = Exchange {
                    method: head.method,
                    path: target.path(path)?,
                    target: &target,
                    headers: head.headers,
                    body,
                    tls: tls.as_ref(),
                    proxy: proxy.as_ref(),
                    max_body: head.extensions.get().map_or(MAX_BODY, |MaxBody(bytes)| *bytes),
                };
                let answer = exchange.run(&deadline).await?;
                if let Some(seconds) = answer.date.as_ref().and_then(seconds_of) {
                    clock.store(seconds, Ordering::Relaxed);
                }
                let mut response = Response::new(Full::new(Bytes::from(answer.body)));
                response.headers_mut().extend(answer.content_type.map(|it| (CONTENT_TYPE, it)));
                response.extensions_mut().insert(answer.redaction);
                Ok::<_, BoxError>(response)
            }
        });
        let headers = config.extra_headers_layer().map_err(|error| self.broken("/", error))?;
        let service = headers.layer(transport);
        Ok(Client::new(config.base_uri_layer().layer(service), &config.default_namespace))
    }

    pub(super) fn unexpected(&self, path: &str, reason: String) -> ApiError {
        let (url, method, path) = (self.url.clone(), "GET".to_owned(), path.to_owned());
        ApiError::Unexpected { url, method, path, reason }
    }

    /// Finds the transport's error in kube's.
    pub(super) fn broken(&self, path: &str, error: kube::Error) -> ApiError {
        match error {
            kube::Error::Service(error) => match error.downcast::<HttpError>() {
                Ok(error) => ApiError::Http(in_words(*error)),
                Err(error) => self.unexpected(path, format!("an error: {error}")),
            },
            error => self.unexpected(path, format!("an error: {error}")),
        }
    }
}

/// Reads a date as HTTP writes it: `Tue, 24 Nov 2026 17:35:49 GMT`.
fn seconds_of(date: &HeaderValue) -> Option<i64> {
    let date = jiff::fmt::rfc2822::parse(date.to_str().ok()?).ok()?;
    Some(date.timestamp().as_second())
}

pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    if is_node_name(name) { Ok(()) } else { Err(ApiError::NodeName { name: name.to_owned() }) }
}

/// The most that is read of the answer to a request, on its way through kube to the transport.
#[derive(Clone, Copy)]
struct MaxBody(u64);

/// The state of one call.
pub(super) struct Call<'a> {
    pub(super) server: &'a ApiServer,
    pub(super) client: Client,
    pub(super) deadline: Deadline,
}

impl Call<'_> {
    /// Requests a list, page by page.
    async fn pages(&self, list: &List, limit: u64) -> Result<Vec<Vec<u8>>, ApiError> {
        const GONE: Option<u16> = Some(410);
        let mut pages: Vec<Vec<u8>> = Vec::new();
        let mut left = limit;
        let mut is_whole = false;
        let mut continuation: Option<String> = None;
        loop {
            let path = list.path((!is_whole).then_some(LIMIT), continuation.as_deref());
            let page = match self.ask(&path, left).await {
                Err(error) if error.status() == GONE && continuation.is_some() && !is_whole => {
                    // The pages so far are older than the rest.
                    (pages, left) = (Vec::new(), limit);
                    (continuation, is_whole) = (None, true);
                    continue;
                }
                page => page?,
            };
            let following =
                next(&page, list.kind).map_err(|reason| self.server.unexpected(&path, reason))?;
            if following.is_some() && following == continuation {
                let reason = "a page whose continuation is itself".to_owned();
                return Err(self.server.unexpected(&path, reason));
            }
            left = left.saturating_sub(page.len() as u64);
            pages.push(page);
            continuation = following;
            if continuation.is_none() {
                return Ok(pages);
            }
        }
    }

    /// Requests JSON; retries when the server asks for it, within the deadline.
    pub(super) async fn ask(&self, path: &str, max_body: u64) -> Result<Vec<u8>, ApiError> {
        loop {
            let error = match self.send(Method::GET, path, Bytes::new(), max_body).await {
                Err(ApiError::Http(error)) => error,
                done => return done,
            };
            let wait = match &error {
                HttpError::Status { code: 429 | 500.., retry_after: Some(wait), .. } => {
                    (*wait).max(SHORTEST_WAIT)
                }
                _ => return Err(error.into()),
            };
            if !self.deadline.allows(wait) {
                return Err(error.into());
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends one request, with a JSON body if given, and reads JSON.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        max_body: u64,
    ) -> Result<Vec<u8>, ApiError> {
        self.receive("application/json", method, path, body, max_body).await
    }

    /// Sends one request and reads an answer of a media type.
    pub(super) async fn receive(
        &self,
        expected: &'static str,
        method: Method,
        path: &str,
        body: Bytes,
        max_body: u64,
    ) -> Result<Vec<u8>, ApiError> {
        let unexpected = |reason| {
            let (url, path, method) =
                (self.server.url.clone(), path.to_owned(), method.to_string());
            ApiError::Unexpected { url, method, path, reason }
        };
        let uri: Uri = path.parse().map_err(|error| unexpected(format!("nothing: {error}")))?;
        let has_body = !body.is_empty();
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        if has_body {
            let sent = match method == Method::PATCH {
                true => "application/merge-patch+json",
                false => "application/json",
            };
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(sent));
        }
        // The API server answers 406 where no type is accepted in which it writes objects, also for logs.
        let accepted = match expected {
            "application/json" => expected,
            _ => "application/json, */*",
        };
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accepted));
        request.extensions_mut().insert(MaxBody(max_body));
        let sent = self.client.send(request).await;
        let response = sent.map_err(|error| self.server.broken(path, error))?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|t| t.to_str().ok());
        let media_type = content_type.and_then(|t| t.split(';').next()).map(str::trim);
        if !media_type.is_some_and(|t| t.eq_ignore_ascii_case(expected)) {
            let reason = match content_type {
                Some(content_type) => {
                    let redaction = response.extensions().get::<Redaction>();
                    let shown = redaction.map(|it| it.redact(content_type)).unwrap_or_default();
                    format!("{shown}, expected {expected}")
                }
                None => format!("no content type, expected {expected}"),
            };
            return Err(unexpected(reason));
        }
        let body = response.into_body().collect_bytes().await;
        Ok(body.map_err(|error| self.server.broken(path, error))?.into())
    }
}
