//! A gRPC server that knows the health service, or does not.

use super::super::probe_server::Listener;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, server};
use http::{HeaderMap, Request, Response};
use serde_json::{Map, Value, json};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The request that the server got.
pub type Asked = Arc<Mutex<Option<Value>>>;

pub fn start(address: &str, kind: &str, reply: &Value) -> (Listener, Asked) {
    let listener = TcpListener::bind((address, 0)).expect("a port is free");
    let bound = listener.local_addr().expect("it has a port");
    let asked = Asked::default();
    let (kind, reply) = (kind.to_owned(), reply.clone());
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (stream, _) = listener.accept().expect("somebody comes");
            stream.set_nonblocking(true).expect("a socket");
            let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
            let Ok(mut connection) = server::handshake(stream).await else { return };
            while let Some(Ok((request, respond))) = connection.accept().await {
                let (kind, reply, seen) = (kind.clone(), reply.clone(), Arc::clone(&seen));
                let run = async move { answer(request, respond, &kind, &reply, &seen).await };
                tokio::spawn(run);
            }
        });
    });
    (Listener::at(bound), asked)
}

async fn answer(
    mut request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    kind: &str,
    reply: &Value,
    asked: &Asked,
) -> Option<()> {
    let mut body = Vec::new();
    while let Some(part) = request.body_mut().data().await {
        body.extend_from_slice(&part.ok()?);
    }
    if kind == "no_health_service" {
        let text = "unknown service grpc.health.v1.Health";
        return refuse(&mut respond, 12, text);
    }
    let service = service(&body);
    let mut metadata = Map::new();
    metadata.insert(":authority".to_owned(), json!(request.uri().authority()?.as_str()));
    for name in ["content-type", "user-agent"] {
        let value = request.headers().get(name)?.to_str().ok()?;
        metadata.insert(name.to_owned(), json!(value));
    }
    *asked.lock().expect("no panic") = Some(json!({
        "metadata": metadata,
        "method": request.uri().path(),
        "service": service,
    }));
    if let Some(delay) = reply["delay_milliseconds"].as_u64() {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    if let Some(code) = reply["code"].as_u64() {
        return refuse(&mut respond, code, reply["message"].as_str().unwrap_or_default());
    }
    let status = match reply.get("services") {
        Some(services) => services.get(&service).and_then(Value::as_i64),
        None => reply["serving_status"].as_i64(),
    };
    let Some(status) = status else { return refuse(&mut respond, 5, "unknown service") };
    let head = Response::builder().header("content-type", "application/grpc").body(()).ok()?;
    let mut stream = respond.send_response(head, false).ok()?;
    let mut message = vec![];
    if status != 0 {
        message.push(8);
        let mut rest = status as u64;
        while rest >= 0x80 {
            message.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        message.push(rest as u8);
    }
    let mut framed = vec![0, 0, 0, 0, message.len() as u8];
    framed.append(&mut message);
    stream.send_data(framed.into(), false).ok()?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().ok()?);
    stream.send_trailers(trailers).ok()
}

/// Answers with nothing but a status.
fn refuse(respond: &mut SendResponse<Bytes>, code: u64, message: &str) -> Option<()> {
    let encoded: String = message
        .bytes()
        .map(|byte| match byte {
            b' '..=b'~' if byte != b'%' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let mut head = Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", code.to_string());
    if !encoded.is_empty() {
        head = head.header("grpc-message", encoded);
    }
    respond.send_response(head.body(()).ok()?, true).ok().map(drop)
}

/// Returns the requested service.
fn service(body: &[u8]) -> String {
    let message = body.get(5..).unwrap_or_default();
    let Some((10, rest)) = message.split_first() else { return String::new() };
    let length_bytes = 1 + rest.iter().take_while(|byte| **byte >= 0x80).count();
    let text = rest.get(length_bytes..).unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
