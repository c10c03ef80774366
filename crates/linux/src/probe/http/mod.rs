//! An HTTP probe on the wire (`DoHTTPProbe`, `pkg/probe/http/http.go`, over Go's `net/http` client).
//!
//! One time covers everything: connecting, TLS, redirects and the body. What is sent and what an answer
//! means is decided in [`kq_probe::http`].

mod exchange;
mod http2;
mod socket;
mod tls;

use super::dial::{connect, look_up, read_address};
use super::run::Stopwatch;
use kq_probe::http::{
    End, Follow, HttpProbeRequest, Prepared, ResponseError, ResponseReader, body_failed, verdict,
};
use kq_probe::{Attempt, Cause, DialHost, Exchange, Phase, PhaseTime, ProbeTimeout};
use socket::Socket;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long a handshake of TLS may take, however long the probe may (`http.DefaultTransport`, which
/// `SetTransportDefaults` of apimachinery uses).
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What Go says when the time is over before the head of the last answer has come.
const TOO_LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

/// What it says after that.
const TOO_LATE_FOR_BODY: &[u8] =
    b"context deadline exceeded (Client.Timeout or context cancellation while reading body)";

/// Sends a GET request as the kubelet does, and returns its verdict.
///
/// A negative number of seconds is no limit here, as 0 is. A name that is being looked up keeps a thread of
/// the runtime beyond the time of the probe, and so does a connection that is being closed: end the runtime
/// with `shutdown_background`.
pub async fn probe_http(request: HttpProbeRequest, timeout: ProbeTimeout) -> Attempt {
    let deadline = match timeout {
        ProbeTimeout::After(time) => Instant::now().checked_add(time),
        ProbeTimeout::None | ProbeTimeout::Past => None,
    };
    let mut run = Run {
        request,
        reader: ResponseReader::new(),
        watch: Stopwatch::start(),
        phases: Vec::new(),
        exchanges: Vec::new(),
        stage: Stage::Head,
    };
    let attempt = match deadline {
        None => run.go().await,
        Some(deadline) => match timeout_at(deadline, run.go()).await {
            Ok(attempt) => attempt,
            Err(_) => run.too_late(),
        },
    };
    run.record();
    if attempt.cause != Some(Cause::Timeout) {
        run.watch.finish();
    }
    run.phases.extend(run.watch.phases());
    Attempt { phases: run.phases, exchanges: run.exchanges, ..attempt }
}

/// A probe that is under way.
struct Run {
    /// The request that is being made, or made next.
    request: HttpProbeRequest,
    /// The response over HTTP/1.
    reader: ResponseReader,
    /// The parts of this request; those of the ones before.
    watch: Stopwatch,
    phases: Vec<PhaseTime>,
    exchanges: Vec<Exchange>,
    stage: Stage,
}

/// What an error means now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The head of an answer is awaited.
    Head,
    /// The body of the last answer is read.
    Body,
    /// The body of an answer is read of which only the head matters.
    Slurp,
}

/// The result of one request.
enum Hop {
    /// The probe is over.
    Done(Attempt),
    /// There is another request to make.
    Next,
}

impl Run {
    async fn go(&mut self) -> Attempt {
        loop {
            match self.hop().await {
                Hop::Done(attempt) => return attempt,
                Hop::Next => {
                    self.record();
                    self.watch.finish();
                    let watch = std::mem::replace(&mut self.watch, Stopwatch::start());
                    self.phases.extend(watch.phases());
                }
            }
        }
    }

    /// Makes one request.
    async fn hop(&mut self) -> Hop {
        self.stage = Stage::Head;
        let prepared = match self.request.prepare() {
            Ok(prepared) => prepared,
            Err(cause) => return self.failed(Cause::Request, cause.as_bytes()),
        };
        self.begin(&prepared);
        let socket = match self.connect(&prepared.dial_address).await {
            Ok(socket) => socket,
            Err(hop) => return hop,
        };
        if !prepared.is_tls {
            self.watch.enter(Phase::FirstByte);
            return exchange::exchange(self, socket, &prepared.bytes).await;
        }
        self.watch.enter(Phase::Tls);
        let handshake = tls::handshake(socket, &prepared.server_name, prepared.alpn);
        let stream = match timeout(HANDSHAKE_TIMEOUT, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(End::Eof)) => return self.failed(Cause::Tls, b"EOF"),
            Ok(Err(End::Error { text, .. })) => return self.failed(Cause::Tls, text.as_bytes()),
            Err(_) => return self.failed(Cause::Timeout, b"net/http: TLS handshake timeout"),
        };
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.certificate = tls::certificate(&stream);
        }
        self.watch.enter(Phase::FirstByte);
        if tls::speaks_http2(&stream) {
            http2::exchange(self, stream, &prepared.h2).await
        } else {
            exchange::exchange(self, stream, &prepared.bytes).await
        }
    }

    async fn connect(&mut self, address: &str) -> Result<Socket, Hop> {
        let found = match read_address(address) {
            Ok(address) => {
                if matches!(address.host, DialHost::Name(_)) {
                    self.watch.enter(Phase::Lookup);
                }
                look_up(&address).await
            }
            Err(error) => Err(error),
        };
        let connected = match found {
            Ok(remotes) => {
                self.watch.enter(Phase::Connect);
                connect(&remotes, None).await
            }
            Err(error) => Err(error),
        };
        match connected {
            Ok(stream) => Ok(Socket::new(stream)),
            Err(error) => Err(self.failed(error.cause(), error.to_string().as_bytes())),
        }
    }

    /// Decides what follows from a head; `None`: its body is to be read.
    fn decide(&mut self, status: u16, location: Option<&[u8]>) -> Option<Hop> {
        match self.request.follow(status, location) {
            Follow::Final => {
                self.stage = Stage::Body;
                None
            }
            Follow::Next(next) => {
                self.request = *next;
                self.stage = Stage::Slurp;
                Some(Hop::Next)
            }
            Follow::Failed(text) => Some(Hop::Done(Attempt::failure(Cause::Redirect, text))),
        }
    }

    /// Returns the verdict on a failed request.
    fn failed(&self, cause: Cause, why: &[u8]) -> Hop {
        match self.stage {
            Stage::Slurp => Hop::Next,
            Stage::Body => Hop::Done(body_failed(cause, why)),
            Stage::Head => {
                let mut text = self.request.failure_text("").into_bytes();
                text.extend_from_slice(why);
                Hop::Done(Attempt::failure(cause, text))
            }
        }
    }

    fn too_late(&self) -> Attempt {
        match self.stage {
            Stage::Body => body_failed(Cause::Timeout, TOO_LATE_FOR_BODY),
            Stage::Head | Stage::Slurp => {
                Attempt::failure(Cause::Timeout, self.request.failure_text(TOO_LATE))
            }
        }
    }

    /// Returns the verdict on an unreadable HTTP/1 response.
    fn malformed(&self, error: &ResponseError) -> Hop {
        self.failed(Cause::Protocol, &error.text)
    }

    fn begin(&mut self, prepared: &Prepared) {
        self.reader = ResponseReader::new();
        self.exchanges.push(Exchange {
            address: prepared.dial_address.clone(),
            request: prepared.bytes.clone().into(),
            ..Exchange::default()
        });
    }

    /// Stores the result of the last request.
    fn record(&mut self) {
        if let Some(exchange) = self.exchanges.last_mut()
            && !self.reader.is_empty()
        {
            exchange.head = self.reader.head_bytes().to_vec().into();
            exchange.body = self.reader.body().to_vec().into();
        }
        self.reader = ResponseReader::new();
    }

    fn verdict(&self, status: u16, body: &[u8]) -> Hop {
        Hop::Done(verdict(status, body))
    }
}
