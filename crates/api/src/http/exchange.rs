//! One request and its answer, with one deadline over everything that a call does, and the runtime that it does it in.

use crate::http::error::{HttpError, Phase, Redaction, Refusal};
#[cfg(feature = "apiserver")]
use crate::http::proxy::Proxy;
use crate::http::target::Target;
use crate::http::tls::{Tls, failure};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use kq_facts::limits::MAX_JSON_BYTES;
use kq_io::memory;
use rustls_pki_types::ServerName;
use std::error::Error;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

/// What `Duration::MAX` and its like become; an instant so far away cannot be computed.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// When a call must be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    given: Duration,
}

impl Deadline {
    /// Starts the clock.
    pub(crate) fn after(given: Duration) -> Self {
        Self { at: Instant::now() + given.min(FOR_EVER), given }
    }

    /// Does something, and gives it up when the time is over.
    pub(crate) async fn within<T>(
        &self,
        address: &str,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        timeout_at(self.at, work).await.map_err(|_| HttpError::Timeout {
            address: address.to_owned(),
            phase,
            deadline: self.given,
        })
    }

    /// Returns true if the time is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.at
    }

    /// Returns true if there is time to wait and then retry.
    #[cfg(feature = "apiserver")]
    pub(crate) fn allows(&self, wait: Duration) -> bool {
        wait < self.at.saturating_duration_since(Instant::now())
    }
}

/// Does the work of one call in a runtime of its own.
pub(crate) fn run<T, E: From<HttpError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| HttpError::Runtime { error })?;
    let done = runtime.block_on(work);
    // A name that is still being looked up blocks a thread, for which a dropped runtime would wait
    // past the deadline.
    runtime.shutdown_background();
    done
}

/// The most that is read of an answer.
pub(crate) const MAX_BODY: u64 = MAX_JSON_BYTES as u64;

/// How much of an answer that is no success is read, and how much of that is shown.
const READ_OF_REFUSAL: usize = 64 * 1024;

const SHOWN_OF_REFUSAL: usize = 200;

/// A request.
pub(crate) struct Exchange<'a> {
    /// The server.
    pub(crate) target: &'a Target,
    /// What is to be done.
    pub(crate) method: Method,
    /// The path and the query.
    pub(crate) path: Uri,
    /// Headers in addition to `Host`, `User-Agent` and `Connection`.
    pub(crate) headers: HeaderMap,
    /// What is sent along; empty for a question.
    pub(crate) body: Bytes,
    /// How to speak TLS; needed for a target that does.
    pub(crate) tls: Option<&'a Tls>,
    /// What the connection goes through.
    #[cfg(feature = "apiserver")]
    pub(crate) proxy: Option<&'a Proxy>,
    /// The most that is read of the answer.
    pub(crate) max_body: u64,
}

/// An answer that is a success.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `Content-Type`, as it came: it is compared before it is shown.
    #[cfg_attr(not(feature = "apiserver"), expect(dead_code, reason = "used for the API server"))]
    pub(crate) content_type: Option<HeaderValue>,
    /// `Date`: the server's clock.
    #[cfg_attr(not(feature = "apiserver"), expect(dead_code, reason = "used for the API server"))]
    pub(crate) date: Option<HeaderValue>,
    /// The secrets in it.
    #[cfg_attr(not(feature = "apiserver"), expect(dead_code, reason = "used for the API server"))]
    pub(crate) redaction: Redaction,
    /// What the server said.
    pub(crate) body: Vec<u8>,
}

/// A connection, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects to a host and a port; the address is what messages show.
pub(super) async fn connect(
    host: (&str, u16),
    address: &str,
    deadline: &Deadline,
) -> Result<TcpStream, HttpError> {
    let connected = deadline.within(address, Phase::Connect, TcpStream::connect(host)).await?;
    let address = address.to_owned();
    connected.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => HttpError::Refused { address },
        _ => HttpError::Connect { address, error },
    })
}

/// Begins TLS with a host on a connection to it; the address is what messages show.
pub(super) async fn encrypt(
    stream: Box<dyn Stream>,
    tls: Option<&Tls>,
    (host, address): (&str, &str),
    deadline: &Deadline,
) -> Result<Box<dyn Stream>, HttpError> {
    let tls_error = |reason| HttpError::Tls { address: address.to_owned(), reason };
    let tls = tls.ok_or_else(|| tls_error("no trusted authorities are configured".to_owned()))?;
    let name = match &tls.server_name {
        Some(name) => name.clone(),
        None => ServerName::try_from(host.to_owned())
            .map_err(|_| tls_error("the host is neither a name nor an address".to_owned()))?,
    };
    let handshake = TlsConnector::from(tls.config.clone()).connect(name, stream);
    match deadline.within(address, Phase::Tls, handshake).await? {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(match find::<rustls::Error>(&error) {
            Some(error) => failure(address.to_owned(), error),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                tls_error("the server closed the connection in the handshake".to_owned())
            }
            None => tls_error(kq_io::input::plain(&error)),
        }),
    }
}

impl Exchange<'_> {
    /// Connects, asks and reads the answer.
    #[cfg(feature = "apiserver")]
    pub(crate) async fn run(self, deadline: &Deadline) -> Result<Answer, HttpError> {
        let connection: Box<dyn Stream> = match self.proxy {
            Some(proxy) => proxy.connect(self.target, deadline).await?,
            None => Box::new(self.connect(deadline).await?),
        };
        self.ask(connection, deadline).await
    }

    /// Asks on a connection that [`Exchange::connect`] made, and reads the answer.
    pub(crate) async fn run_on(
        self,
        connection: TcpStream,
        deadline: &Deadline,
    ) -> Result<Answer, HttpError> {
        self.ask(Box::new(connection), deadline).await
    }

    async fn ask(
        self,
        connection: Box<dyn Stream>,
        deadline: &Deadline,
    ) -> Result<Answer, HttpError> {
        let stream = self.encrypt(connection, deadline).await?;
        let answer = deadline.within(self.address(), Phase::Headers, self.send(stream)).await??;
        self.read(answer, deadline).await
    }

    fn address(&self) -> &str {
        &self.target.address
    }

    /// Connects, and sends nothing.
    pub(crate) async fn connect(&self, deadline: &Deadline) -> Result<TcpStream, HttpError> {
        connect((&self.target.host, self.target.port), self.address(), deadline).await
    }

    async fn encrypt(
        &self,
        stream: Box<dyn Stream>,
        deadline: &Deadline,
    ) -> Result<Box<dyn Stream>, HttpError> {
        if !self.target.is_tls {
            return Ok(stream);
        }
        encrypt(stream, self.tls, (&self.target.host, self.address()), deadline).await
    }

    async fn send(&self, stream: Box<dyn Stream>) -> Result<Response<Incoming>, HttpError> {
        let failed = |error: hyper::Error| self.broken(&error, 0, None);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // The error that ends the connection is also reported to the waiting request.
        tokio::spawn(connection);
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.path.clone();
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(self.address()).map_err(|_| HttpError::Url {
            url: self.address().to_owned(),
            reason: "it cannot be written into a header".to_owned(),
        })?;
        headers.insert(HOST, host);
        let agent = concat!("kq/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.extend(self.headers.clone());
        self.redaction().register();
        sender.send_request(request).await.map_err(failed)
    }

    async fn read(
        &self,
        answer: Response<Incoming>,
        deadline: &Deadline,
    ) -> Result<Answer, HttpError> {
        let (head, body) = answer.into_parts();
        if head.status.is_success() {
            let reading = self.collect(body, self.max_body);
            let body = deadline.within(self.address(), Phase::Body, reading).await??;
            let content_type = head.headers.get(CONTENT_TYPE).cloned();
            let date = head.headers.get(DATE).cloned();
            return Ok(Answer { content_type, date, body, redaction: self.redaction() });
        }
        // The status code matters more than a body that was cut off or slow.
        let mut read = Vec::new();
        let reading = self.collect_some(body, &mut read);
        let _ = deadline.within(self.address(), Phase::Body, reading).await;
        let is_redirect = head.status.is_redirection();
        Err(HttpError::Status {
            address: self.address().to_owned(),
            path: self.path.to_string().into(),
            code: head.status.as_u16(),
            body: self.excerpt(&read),
            refusal: Box::new(Refusal::new(
                self.method.to_string(),
                String::from_utf8_lossy(&read).into_owned(),
                self.redaction(),
            )),
            location: self.text(&head.headers, LOCATION).filter(|_| is_redirect),
            retry_after: head
                .headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .and_then(|seconds| seconds.trim().parse().ok())
                .map(Duration::from_secs),
        })
    }

    async fn collect(&self, mut body: Incoming, limit: u64) -> Result<Vec<u8>, HttpError> {
        let too_large = || HttpError::TooLarge { address: self.address().to_owned(), limit };
        let expected = body.size_hint().exact();
        if expected.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let mut read: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| self.broken(&error, read.len() as u64, expected))?;
            let Ok(data) = frame.into_data() else { continue };
            memory::received(self.address(), data.len());
            if (read.len() + data.len()) as u64 > limit {
                return Err(too_large());
            }
            read.extend_from_slice(&data);
        }
        Ok(read)
    }

    async fn collect_some(&self, mut body: Incoming, read: &mut Vec<u8>) {
        while let Some(Ok(frame)) = body.frame().await {
            if let Ok(data) = frame.into_data() {
                read.extend_from_slice(&data);
            }
            if read.len() >= READ_OF_REFUSAL {
                return;
            }
        }
    }

    /// Returns the error that broke an established connection.
    fn broken(&self, error: &hyper::Error, received: u64, expected: Option<u64>) -> HttpError {
        let address = self.address().to_owned();
        if let Some(error) = find::<rustls::Error>(error) {
            return failure(address, error);
        }
        let io = find::<io::Error>(error);
        let is_malformed = io.is_some_and(|io| {
            matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
        });
        if error.is_parse() || is_malformed {
            let reason = last(error).to_string().to_lowercase();
            return HttpError::NotHttp { address, reason };
        }
        let reason = match io {
            Some(io) if io.kind() != io::ErrorKind::UnexpectedEof => kq_io::input::plain(io),
            _ => "the server closed the connection".to_owned(),
        };
        HttpError::CutOff { address, received, expected, reason }
    }

    /// Returns a header as it is shown.
    fn text(&self, headers: &HeaderMap, name: HeaderName) -> Option<String> {
        headers.get(name).map(|value| self.excerpt(value.as_bytes()))
    }

    /// Returns the beginning of a text as it is shown: in one line, without the credentials.
    fn excerpt(&self, text: &[u8]) -> String {
        let text = self.redaction().redact(&String::from_utf8_lossy(text));
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|w| !w.is_empty())
            .collect();
        words.join(" ").chars().take(SHOWN_OF_REFUSAL).collect()
    }

    fn redaction(&self) -> Redaction {
        Redaction::of(&self.headers)
    }
}

/// Returns the first error of a kind in a chain of causes.
///
/// An [`io::Error`] that wraps another error names that one's cause as its own and skips it; so its
/// inside is searched as well.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inside = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
        if let Some(found) = inside.and_then(|inside| find::<E>(inside)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn last(error: &dyn Error) -> &dyn Error {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}
