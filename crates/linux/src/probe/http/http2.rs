//! A request and its answer in HTTP/2, where a server with TLS prefers it (`golang.org/x/net/http2`,
//! `transport.go`).

use super::socket::{Broken, Socket};
use super::{Hop, Run, Stage};
use bytes::Bytes;
use h2::client::{Builder, Connection};
use http::{HeaderName, HeaderValue, Request, Response, Uri, Version};
use kq_k8s::go_text::quote_bytes;
use kq_probe::http::{End, H2Request, slurped_bytes};
use kq_probe::{Attempt, Cause, FrameScan, MAX_OUTPUT_BYTES, Phase, http2_error_name};
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_rustls::client::TlsStream;

/// How much of a body the server may send before it is read: little more than kq needs.
const WINDOW_BYTES: u32 = 16 * 1024;

/// How much is taken of headers, as Go announces it.
const MAX_HEADER_BYTES: u32 = 10 << 20;

/// How much of a head is shown.
const SHOWN_HEAD_BYTES: usize = 64 * 1024;

/// The connection; `None` once it has ended.
type Driver = Option<Connection<Watched, Bytes>>;

/// Sends a request and reads the answer.
pub(super) async fn exchange(run: &mut Run, stream: TlsStream<Socket>, request: &H2Request) -> Hop {
    let seen = Seen { broken: stream.get_ref().0.broken(), frames: Arc::default() };
    let stream = Watched { stream, frames: Arc::clone(&seen.frames) };
    if let Some(exchange) = run.exchanges.last_mut() {
        exchange.request = lines(request).into();
    }
    if let Some(cause) = &request.refused {
        return run.failed(Cause::Request, cause.as_bytes());
    }
    let Some(request) = message(request) else {
        return Hop::Done(Attempt::error(
            Cause::Request,
            "the kubelet would send this address over HTTP/2, kq cannot",
        ));
    };
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(4 * WINDOW_BYTES)
        .max_header_list_size(MAX_HEADER_BYTES);
    let (sender, connection) = match builder.handshake::<_, Bytes>(stream).await {
        Ok(parts) => parts,
        Err(error) => return run.failed(Cause::Protocol, &seen.go_text(&error)),
    };
    let mut driver = Some(connection);
    let answer = drive(&mut driver, async {
        let (answer, _) = sender.ready().await?.send_request(request, true)?;
        answer.await
    });
    let answer = match answer.await {
        Ok(answer) => answer,
        Err(error) => return run.failed(Cause::Protocol, &seen.go_text(&error)),
    };
    run.watch.enter(Phase::Body);
    let status = answer.status().as_u16();
    if let Some(exchange) = run.exchanges.last_mut() {
        exchange.head = head(&answer).into();
    }
    let location = answer.headers().get(http::header::LOCATION).map(HeaderValue::as_bytes);
    let needed = match run.decide(status, location) {
        None => MAX_OUTPUT_BYTES,
        Some(Hop::Next) => slurped_bytes(content_length(&answer)),
        Some(hop) => return hop,
    };
    let mut stream = answer.into_body();
    let mut body = Vec::new();
    while body.len() < needed {
        match drive(&mut driver, stream.data()).await {
            None => break,
            // Fewer bytes than were announced.
            Some(Err(error)) if error.is_reset() && error.is_library() => {
                return run.failed(Cause::Protocol, b"unexpected EOF");
            }
            Some(Err(error)) => return run.failed(Cause::Protocol, &seen.go_text(&error)),
            Some(Ok(bytes)) => {
                let missing = needed - body.len();
                body.extend_from_slice(bytes.get(..missing).unwrap_or(&bytes));
                // The window is only closed by a stream that has ended.
                let _ = stream.flow_control().release_capacity(bytes.len());
            }
        }
    }
    run.watch.finish();
    if let Some(exchange) = run.exchanges.last_mut() {
        exchange.body = body.clone().into();
    }
    drop(stream);
    say_goodbye(&mut driver).await;
    if run.stage == Stage::Slurp { Hop::Next } else { run.verdict(status, &body) }
}

fn content_length<T>(answer: &Response<T>) -> Option<u64> {
    answer.headers().get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Waits for something while the connection goes on.
async fn drive<T>(driver: &mut Driver, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        if let Some(connection) = driver
            && Pin::new(connection).poll(context).is_ready()
        {
            *driver = None;
        }
        work.as_mut().poll(context)
    })
    .await
}

/// Lets the connection reset the stream, as far as it can without waiting.
async fn say_goodbye(driver: &mut Driver) {
    poll_fn(|context| {
        if let Some(connection) = driver {
            let _ = Pin::new(connection).poll(context);
        }
        Poll::Ready(())
    })
    .await;
}

/// Returns the request in the words of the library, `None` where it refuses what Go sends.
fn message(request: &H2Request) -> Option<Request<()>> {
    let uri = Uri::builder()
        .scheme(request.scheme.as_slice())
        .authority(request.authority.as_slice())
        .path_and_query(request.path.as_slice())
        .build()
        .ok()?;
    let mut message = Request::get(uri).version(Version::HTTP_2).body(()).ok()?;
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        message.headers_mut().append(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(message)
}

/// Shows a request.
fn lines(request: &H2Request) -> Vec<u8> {
    let H2Request { scheme, authority, path, headers, .. } = request;
    let own: [(&str, &[u8]); 4] =
        [(":authority", authority), (":method", b"GET"), (":path", path), (":scheme", scheme)];
    let others = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    let line = |(name, value): (&str, &[u8])| [name.as_bytes(), b": ", value, b"\r\n"].concat();
    own.into_iter().chain(others).flat_map(line).collect()
}

/// Returns a head for display, cut where it is unusually long.
fn head<T>(answer: &Response<T>) -> Vec<u8> {
    let mut lines = format!(":status: {}\r\n", answer.status().as_u16()).into_bytes();
    for (name, value) in answer.headers() {
        if lines.len() > SHOWN_HEAD_BYTES {
            break;
        }
        lines.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    lines.truncate(SHOWN_HEAD_BYTES);
    lines
}

/// What was seen of a connection, for what Go says when it fails.
struct Seen {
    broken: Broken,
    frames: Arc<Mutex<Frames>>,
}

/// What came.
#[derive(Debug, Default)]
struct Frames {
    scan: FrameScan,
    /// The first bytes, as many as the header of a frame has.
    start: Vec<u8>,
}

/// The error for a server that agreed on HTTP/2 and speaks HTTP/1.
const LOOKS_LIKE_HTTP1: &[u8; 9] = b"HTTP/1.1 ";

impl Seen {
    /// Returns what Go says to an error of HTTP/2 (`errors.go` and `transport.go` of `x/net/http2`).
    fn go_text(&self, error: &h2::Error) -> Vec<u8> {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let code = error.reason().map(u32::from);
        let is_end = error.is_io() || code.is_none();
        let text = match (&frames.scan.go_away, code) {
            (Some(last), _) if last.last_stream == 0 && last.code != 0 => {
                let name = http2_error_name(last.code);
                format!("http2: Transport received GOAWAY from server ErrCode:{name}")
            }
            (Some(last), _) if is_end || (error.is_go_away() && error.is_remote()) => format!(
                "http2: server sent GOAWAY and closed the connection; LastStreamID={}, ErrCode={}, \
                 debug={}",
                last.last_stream,
                http2_error_name(last.code),
                quote_bytes(&last.debug)
            ),
            (_, Some(code)) if !is_end => {
                let name = http2_error_name(code);
                match (error.is_go_away(), error.is_remote()) {
                    (false, true) => {
                        format!("stream error: stream ID 1; {name}; received from peer")
                    }
                    (false, false) => format!("stream error: stream ID 1; {name}"),
                    (true, _) if frames.start == LOOKS_LIKE_HTTP1 => {
                        "http2: failed reading the frame payload: http2: frame too large, note that \
                         the frame header looked like an HTTP/1.1 header"
                            .to_owned()
                    }
                    (true, _) if frames.scan.too_large => "http2: frame too large".to_owned(),
                    (true, _) => format!("connection error: {name}"),
                }
            }
            _ => match self.broken.end() {
                Some(End::Error { text, .. }) => text,
                Some(End::Eof) => "unexpected EOF".to_owned(),
                None => error.get_io().map_or_else(|| error.to_string(), io_text),
            },
        };
        text.into_bytes()
    }
}

fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => "unexpected EOF".to_owned(),
        _ => error.to_string(),
    }
}

/// A connection whose frames are scanned before the library gets them.
struct Watched {
    stream: TlsStream<Socket>,
    frames: Arc<Mutex<Frames>>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = LOOKS_LIKE_HTTP1.len().saturating_sub(frames.start.len());
        frames.start.extend(read.iter().take(missing));
        frames.scan.read(read);
        drop(frames);
        done
    }
}

write_through!(Watched);
