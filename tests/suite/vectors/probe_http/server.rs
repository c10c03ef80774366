//! A server on loopback that says what a case has it say, byte for byte.

use super::super::probe_server::fill_in;
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// A server; it holds what it is to hold until it is stopped.
pub struct Server {
    port: u16,
    address: std::net::SocketAddr,
    speaks_http2: bool,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    is_over: AtomicBool,
    seen: Mutex<Vec<String>>,
    held: Mutex<Vec<TcpStream>>,
    replies: Vec<Value>,
    security: Security,
}

/// What is spoken beneath HTTP.
enum Security {
    Plain,
    Tls(Arc<ServerConfig>),
    /// Whatever the client says, it gets this alert.
    Alert(u8),
    Http2(Arc<ServerConfig>),
}

impl Server {
    pub fn start(host: &str, case: &Value) -> Self {
        let security = match case["tls"].as_str() {
            None => Security::Plain,
            Some("tls_1_1_only") => Security::Alert(70),
            Some("require_client_certificate") => Security::Alert(40),
            Some("alpn_h2") => Security::Http2(config("alpn_h2")),
            Some(kind) => Security::Tls(config(kind)),
        };
        let speaks_http2 = matches!(security, Security::Http2(_));
        let listener = TcpListener::bind((host, 0)).expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let case = fill_in(case, address.port());
        let replies = case["replies"].as_array().cloned().unwrap_or_default();
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            seen: Mutex::default(),
            held: Mutex::default(),
            replies,
            security,
        });
        let thread = spawn({
            let shared = Arc::clone(&shared);
            move || shared.serve(&listener)
        });
        Self { port: address.port(), address, speaks_http2, shared, thread }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn speaks_http2(&self) -> bool {
        self.speaks_http2
    }

    /// Stops it and returns the requests that it saw.
    pub fn stop(self) -> Vec<String> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.held.lock().expect("no thread panicked").clear();
        let _ = TcpStream::connect(self.address);
        self.thread.join().expect("the server did not panic");
        self.shared.seen.lock().expect("no thread panicked").clone()
    }
}

impl Shared {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for number in 0.. {
            let Ok((stream, _)) = listener.accept() else { return };
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let reply = self.replies.get(number).or(self.replies.last()).cloned();
            let shared = Arc::clone(self);
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            spawn(move || shared.answer(stream, &reply.unwrap_or_default()));
        }
    }

    fn answer(&self, mut stream: TcpStream, reply: &Value) {
        match &self.security {
            Security::Plain => {
                let end = stream.try_clone().expect("a second handle");
                self.say(&mut stream, reply);
                self.end(end, stream, reply);
            }
            Security::Alert(alert) => {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(&[21, 3, 1, 0, 2, 2, *alert]);
                // Closing with something unread would reset the connection.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read(&mut [0; 4096]);
            }
            Security::Tls(config) => {
                let end = stream.try_clone().expect("a second handle");
                let connection = ServerConnection::new(Arc::clone(config)).expect("a server");
                let mut secure = StreamOwned::new(connection, stream);
                self.say(&mut secure, reply);
                if reply["end"] == "close" {
                    secure.conn.send_close_notify();
                    let _ = secure.flush();
                }
                self.end(end, secure, reply);
            }
            Security::Http2(config) => self.answer_http2(stream, Arc::clone(config), reply),
        }
    }

    fn say(&self, stream: &mut (impl Read + Write), reply: &Value) {
        if reply["before_reading_request"].as_bool() != Some(true) {
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut byte) {
                    Ok(1) => request.push(byte[0]),
                    _ => return,
                }
            }
            let text = String::from_utf8_lossy(&request).into_owned();
            self.seen.lock().expect("no thread panicked").push(text);
        }
        pause(&reply["delay_before_reply_milliseconds"]);
        let _ = stream.write_all(&bytes_of(reply)).and_then(|()| stream.flush());
        pause(&reply["pause_after_reply_milliseconds"]);
    }

    fn end<S>(&self, handle: TcpStream, stream: S, reply: &Value) {
        match reply["end"].as_str() {
            Some("reset") => {
                rustix::net::sockopt::set_socket_linger(&handle, Some(Duration::ZERO))
                    .expect("the socket lingers not");
            }
            Some("hold") => {
                let mut held = self.held.lock().expect("no thread panicked");
                if !self.is_over.load(Ordering::SeqCst) {
                    held.push(handle);
                }
            }
            _ => {}
        }
        drop(stream);
    }

    /// Answers with a status and a body.
    fn answer_http2(&self, stream: TcpStream, config: Arc<ServerConfig>, reply: &Value) {
        let text = reply["raw_text"].as_str().unwrap_or_default();
        let status: u16 =
            text.strip_prefix("status ").and_then(|code| code.parse().ok()).expect("status N");
        let body = String::from_utf8(repeated(reply)).expect("the bodies are UTF-8");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        stream.set_nonblocking(true).expect("a socket that does not block");
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let acceptor = tokio_rustls::TlsAcceptor::from(config);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let Ok(mut connection) = h2::server::handshake(stream).await else { return };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let host = request.uri().authority().map_or("", |authority| authority.as_str());
                let path = request.uri().path_and_query().map_or("", |path| path.as_str());
                let mut text = format!("GET {path} HTTP/2.0 host={host}");
                let mut headers: Vec<_> = request.headers().iter().collect();
                headers.sort_by_key(|(name, _)| name.as_str().to_owned());
                for (name, value) in headers {
                    text += &format!(" {name}={}", value.to_str().expect("ASCII"));
                }
                self.seen.lock().expect("no thread panicked").push(text);
                let answer = http::Response::builder().status(status).body(()).expect("a status");
                if let Ok(mut sender) = respond.send_response(answer, body.is_empty()) {
                    let _ = sender.send_data(bytes::Bytes::from(body.clone()), true);
                }
            }
        });
    }
}

fn pause(milliseconds: &Value) {
    sleep(Duration::from_millis(milliseconds.as_u64().unwrap_or_default()));
}

fn bytes_of(reply: &Value) -> Vec<u8> {
    let text = reply["raw_text"].as_str().unwrap_or_default();
    let hex = reply["raw_hex"].as_str().unwrap_or_default();
    let bytes = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two digits")
    });
    text.bytes().chain(bytes).chain(repeated(reply)).collect()
}

fn repeated(reply: &Value) -> Vec<u8> {
    let text = reply["then_repeat_text"].as_str().unwrap_or_default();
    text.repeat(reply["then_repeat_count"].as_u64().unwrap_or_default() as usize).into_bytes()
}

/// Makes a server's certificate, for another name than the requested one, and its settings.
fn config(kind: &str) -> Arc<ServerConfig> {
    let mut params =
        rcgen::CertificateParams::new(vec!["other.example".to_owned()]).expect("a name");
    if kind == "expired" {
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let versions: &[&SupportedProtocolVersion] = match kind {
        "tls_1_2_only" => &[&rustls::version::TLS12],
        "self_signed" | "expired" | "alpn_h2" => rustls::ALL_VERSIONS,
        other => panic!("TLS of kind {other:?}"),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("ring supports them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the key fits");
    if kind == "alpn_h2" {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    Arc::new(config)
}
