//! A gRPC probe on the wire: HTTP/2 without TLS, in the order and with the patience of grpc-go.
//!
//! A connection is there once the server's settings have come; until then it is tried again, with the pauses
//! of grpc-go (`clientconn.go`, `internal/backoff`), up to the deadline, which the call shares. A message
//! is at most 4 MiB and a block of headers 16 MiB, as for grpc-go.
//!
//! Pinned by `probe_grpc.jsonl`.

use super::dial::dial;
use super::run::Stopwatch;
use super::scanned::{Scanned, Seen, seen_now};
use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Request, Response, Uri, Version};
use kq_probe::{
    Attempt, Call, CallFailure, Cause, Exchange, GrpcCode, GrpcTarget, MAX_OUTPUT_BYTES, Outcome,
    Output, Phase, Preface, ProbeTimeout, REFUSED_STREAM, encode_request, grpc_attempt,
    grpc_connect_timeout, grpc_timeout, request_fields,
};
use std::fmt::Write as _;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The pauses of grpc-go between two tries (`backoff.DefaultConfig`).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
const PAUSE_GROWTH: f64 = 1.6;
const JITTER: f64 = 0.2;

/// How long one try may take at least (`minConnectTimeout`).
const CONNECT_TIME: Duration = Duration::from_secs(20);

/// The window of a stream and of the connection with which grpc-go begins.
const WINDOW_BYTES: u32 = 65_535;

/// The largest block of headers that grpc-go reads (`defaultClientMaxHeaderListSize`).
const MAX_HEADER_BYTES: u32 = 16 << 20;

/// The stream of the first call.
const FIRST_STREAM: u32 = 1;

/// Asks the health service of a pod.
///
/// The timeout is that of the probe as it is written: with 0 or less it is over before it begins.
pub async fn probe_grpc(target: &GrpcTarget, user_agent: &str, timeout_seconds: i32) -> Attempt {
    let deadline = match ProbeTimeout::from_seconds(timeout_seconds) {
        ProbeTimeout::After(time) => Instant::now() + time,
        ProbeTimeout::None | ProbeTimeout::Past => {
            return grpc_connect_timeout(target, timeout_seconds, Cause::Timeout);
        }
    };
    let mut watch = Stopwatch::start();
    let mut exchange = Exchange { address: target.address.clone(), ..Exchange::default() };
    let attempt = match open_until(target, deadline, &mut watch).await {
        Err(cause) => grpc_connect_timeout(target, timeout_seconds, cause),
        Ok(open) => {
            let checked = check(target, user_agent, deadline, open, &mut watch, &mut exchange);
            let outcome = timeout_at(deadline, checked).await;
            grpc_attempt(outcome.unwrap_or_else(|_| Err(CallFailure::too_late())), timeout_seconds)
        }
    };
    let exchanges = if exchange.request.0.is_empty() { Vec::new() } else { vec![exchange] };
    Attempt { phases: watch.phases(), exchanges, ..attempt }
}

/// A connection on which the server has sent its settings.
struct Open {
    sender: SendRequest<Bytes>,
    connection: Connection<Scanned, Bytes>,
    seen: Arc<Mutex<Seen>>,
}

/// Why an attempt to connect failed.
struct NotOpen {
    cause: Cause,
    /// In the words of grpc-go.
    problem: String,
}

impl NotOpen {
    /// Returns why there is no settings frame, by what was seen instead.
    fn no_settings(seen: &Mutex<Seen>) -> Self {
        let seen = seen_now(seen);
        let problem = match (&seen.end, seen.frames.too_large) {
            (_, true) => "error reading server preface: http2: frame too large".to_owned(),
            (Some(end), _) => format!("error reading server preface: {end}"),
            (None, _) => "initial http2 frame from server is not a settings frame".to_owned(),
        };
        Self { cause: Cause::Protocol, problem }
    }
}

/// Tries to connect until the deadline; the error is that of the last attempt.
async fn open_until(
    target: &GrpcTarget,
    deadline: Instant,
    watch: &mut Stopwatch,
) -> Result<Open, Cause> {
    let mut pause = FIRST_PAUSE;
    let mut jittered = FIRST_PAUSE;
    loop {
        let begin = Instant::now();
        let until = deadline.min(begin + CONNECT_TIME.max(jittered));
        let cause = match timeout_at(until, open(&target.address, watch)).await {
            Ok(Ok(open)) => return Ok(open),
            Ok(Err(not_open)) => not_open.cause,
            Err(_) => Cause::Timeout,
        };
        let again = Instant::now() + jittered;
        if again >= deadline {
            sleep_until(deadline).await;
            return Err(cause);
        }
        watch.finish();
        sleep_until(again).await;
        pause = pause.mul_f64(PAUSE_GROWTH).min(LONGEST_PAUSE);
        jittered = pause.mul_f64(1.0 + JITTER * (2.0 * chance() - 1.0));
    }
}

/// Returns a number from 0 to 1, another one each time.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

/// Connects, and waits for the settings of the server.
async fn open(address: &str, watch: &mut Stopwatch) -> Result<Open, NotOpen> {
    watch.enter(Phase::Connect);
    let dialed = dial(address).await.map_err(|error| NotOpen {
        cause: error.cause(),
        problem: format!("transport: Error while dialing: {error}"),
    })?;
    watch.enter(Phase::Settings);
    let (stream, seen) = Scanned::new(dialed.stream);
    // Settings that are the default are not sent, so the frame is empty, as that of grpc-go.
    let (sender, mut connection) =
        Builder::new().handshake(stream).await.map_err(|_| NotOpen::no_settings(&seen))?;
    poll_fn(|context| {
        let ended = pin!(&mut connection).poll(context).is_ready();
        let preface = seen_now(&seen).frames.preface;
        match preface {
            Preface::Settings => Poll::Ready(Ok(())),
            Preface::Other => Poll::Ready(Err(NotOpen::no_settings(&seen))),
            Preface::Awaited if ended => Poll::Ready(Err(NotOpen::no_settings(&seen))),
            Preface::Awaited => Poll::Pending,
        }
    })
    .await?;
    watch.finish();
    Ok(Open { sender, connection, seen })
}

/// Makes the call, and once more where the server did not begin with it.
async fn check(
    target: &GrpcTarget,
    user_agent: &str,
    deadline: Instant,
    mut open_now: Open,
    watch: &mut Stopwatch,
    exchange: &mut Exchange,
) -> Outcome {
    let mut tried = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fields = request_fields(target, user_agent);
        fields.push(("grpc-timeout", grpc_timeout(left)));
        exchange.request = shown_request(&fields, &target.service);
        seen_now(&open_now.seen).request = fields;
        let refused = match call(&mut open_now, target, watch, exchange).await {
            Ended::Answered(outcome) => return outcome,
            Ended::Refused(failure) => failure,
        };
        let is_draining = seen_now(&open_now.seen).frames.go_away.is_some();
        if std::mem::replace(&mut tried, true) {
            return Err(refused);
        }
        if is_draining {
            open_now = open(&target.address, watch).await.map_err(|not_open| {
                CallFailure::not_connected(&not_open.problem, not_open.cause)
            })?;
        }
    }
}

/// How a call ended.
enum Ended {
    /// It is over.
    Answered(Outcome),
    /// The server did not begin with it, and so it may be made again.
    Refused(CallFailure),
}

/// Returns the request as h2 needs one; its headers are written in its place by the connection.
fn request() -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("http://localhost/grpc.health.v1.Health/Check");
    *request.version_mut() = Version::HTTP_2;
    request
}

async fn call(
    open: &mut Open,
    target: &GrpcTarget,
    watch: &mut Stopwatch,
    exchange: &mut Exchange,
) -> Ended {
    let Open { sender, connection, seen } = open;
    watch.enter(Phase::FirstByte);
    let mut driver = Driver { connection, ended: false };
    let sent = driver.run(send(sender, &target.service)).await;
    let (stream, response) = match sent {
        Ok((stream, response)) => (stream, response),
        Err(error) => return ended(&error, FIRST_STREAM, seen),
    };
    let response = match driver.run(response).await {
        Ok(response) => response,
        Err(error) => return ended(&error, stream, seen),
    };
    watch.enter(Phase::Body);
    let outcome = match driver.run(receive(response, exchange)).await {
        Ok(outcome) => Ended::Answered(outcome),
        Err(error) => ended(&error, stream, seen),
    };
    watch.finish();
    outcome
}

/// Sends the request with its only message; returns the number of its stream as well.
async fn send(
    sender: &mut SendRequest<Bytes>,
    service: &str,
) -> Result<(u32, ResponseFuture), h2::Error> {
    poll_fn(|context| sender.poll_ready(context)).await?;
    let (response, mut body) = sender.send_request(request(), false)?;
    body.send_data(Bytes::from(encode_request(service)), true)?;
    Ok((body.stream_id().as_u32(), response))
}

/// Reads the answer up to its end, or up to what ends the call before.
async fn receive(
    response: Response<RecvStream>,
    exchange: &mut Exchange,
) -> Result<Outcome, h2::Error> {
    let mut call = Call::default();
    let (head, mut body) = response.into_parts();
    exchange.head = shown_head(head.status.as_u16(), &head.headers);
    let is_end = body.is_end_stream();
    if let Some(outcome) = call.headers(head.status.as_u16(), fields(&head.headers), is_end) {
        return Ok(outcome);
    }
    while let Some(part) = poll_fn(|context| body.poll_data(context)).await {
        let part = part?;
        // More than what was received is never given back.
        let _ = body.flow_control().release_capacity(part.len());
        let room = MAX_OUTPUT_BYTES.saturating_sub(exchange.body.0.len());
        exchange.body.0.extend(part.iter().take(room));
        if let Some(outcome) = call.data(&part) {
            return Ok(outcome);
        }
    }
    match poll_fn(|context| body.poll_trailers(context)).await? {
        Some(trailers) => {
            push_fields(&trailers, &mut exchange.head.0);
            Ok(call.trailers(fields(&trailers)))
        }
        None => Ok(call.end_without_trailers()),
    }
}

fn fields(headers: &HeaderMap) -> impl Iterator<Item = (&str, &[u8])> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
}

/// A connection that is driven concurrently with a call.
struct Driver<'c> {
    connection: &'c mut Connection<Scanned, Bytes>,
    ended: bool,
}

impl Driver<'_> {
    async fn run<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // How it ended is said to the streams as well.
            self.ended = self.ended || pin!(&mut *self.connection).poll(context).is_ready();
            work.as_mut().poll(context)
        })
        .await
    }
}

/// Returns what an error of the library means, by what was seen of the server.
fn ended(error: &h2::Error, stream: u32, seen: &Mutex<Seen>) -> Ended {
    let seen = seen_now(seen);
    let frames = &seen.frames;
    if error.is_remote() && error.is_reset() {
        let code = frames
            .reset
            .filter(|(of, _)| *of == stream)
            .map_or_else(|| error.reason().map_or(0, u32::from), |(_, code)| code);
        let failure = CallFailure::reset(code);
        return if code == REFUSED_STREAM {
            Ended::Refused(failure)
        } else {
            Ended::Answered(Err(failure))
        };
    }
    if frames.go_away.as_ref().is_some_and(|said| said.last_stream < stream) {
        return Ended::Refused(CallFailure::draining());
    }
    let failure = if error.is_library() && error.reason() == Some(Reason::FLOW_CONTROL_ERROR) {
        // grpc-go counts for each stream, and says as well how much came.
        let text = format!("received data exceeding the limit {WINDOW_BYTES} bytes");
        CallFailure::own(GrpcCode::Internal, text)
    } else if error.is_library() && error.is_reset() {
        stream_problem(stream, &seen)
    } else {
        CallFailure::disconnected(&connection_problem(error, &seen), frames)
    };
    Ended::Answered(Err(failure))
}

/// Returns what grpc-go says of a stream that breaks the rules.
fn stream_problem(stream: u32, seen: &Seen) -> CallFailure {
    let text = if seen.frames.headers_again == Some(stream) {
        "a HEADERS frame cannot appear in the middle of a stream"
    } else if seen.frames.header_bytes > u64::from(MAX_HEADER_BYTES) {
        "peer header list size exceeded limit"
    } else {
        "received invalid frame"
    };
    CallFailure::own(GrpcCode::Internal, text)
}

/// Returns what grpc-go's reader says of a connection that ended.
fn connection_problem(error: &h2::Error, seen: &Seen) -> String {
    if seen.frames.too_large {
        return "http2: frame too large".to_owned();
    }
    match (&seen.end, error.reason()) {
        (Some(end), _) => end.clone(),
        (None, Some(reason)) => {
            format!("connection error: {}", kq_probe::http2_error_name(reason.into()))
        }
        (None, None) => error.get_io().map_or_else(|| error.to_string(), super::as_go::errno_text),
    }
}

/// Returns what is sent, in lines.
fn shown_request(fields: &[(&str, String)], service: &str) -> Output {
    let mut shown = String::new();
    for (name, value) in fields {
        let _ = writeln!(shown, "{name}: {value}");
    }
    let _ = writeln!(shown, "\nservice: {service:?}");
    Output(shown.into_bytes())
}

fn shown_head(status: u16, headers: &HeaderMap) -> Output {
    let mut shown = format!(":status: {status}\n").into_bytes();
    push_fields(headers, &mut shown);
    Output(shown)
}

/// Adds as many headers as there is room for.
fn push_fields(headers: &HeaderMap, shown: &mut Vec<u8>) {
    for (name, value) in fields(headers) {
        if shown.len() > MAX_OUTPUT_BYTES {
            return;
        }
        shown.extend_from_slice(name.as_bytes());
        shown.extend_from_slice(b": ");
        shown.extend(value.iter().take(MAX_OUTPUT_BYTES));
        shown.push(b'\n');
    }
}
