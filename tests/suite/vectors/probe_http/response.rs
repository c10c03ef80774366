//! HTTP probes against a server that answers as the case says.

use super::super::digest::sha256;
use super::super::input;
use super::super::probe_server::{Listener, fill_in, leave_out, whole_time};
use super::server::Server;
use crate::closed_port::ClosedPort;
use kq_k8s::pod::HttpGetAction;
use kq_linux::probe::http::probe_http;
use kq_probe::http::build_request;
use kq_probe::{Attempt, ProbeResult, ProbeTimeout};
use serde_json::{Value, json};
use std::time::Instant;

/// Texts that are longer are compared by their digest.
const LONG: usize = 1000;

pub fn answer(case: &Value) -> Value {
    let host = case["pod_ip"].as_str().unwrap_or_default();
    let server = &case["server"];
    if server.is_null() {
        let closed = ClosedPort::new(host);
        let port = closed.address.port();
        return ask(case, port);
    }
    if server["listener_backlog_full"].as_bool() == Some(true) {
        let full = Listener::start(host, "backlog_full");
        return ask(case, full.port());
    }
    let server = Server::start(host, server);
    let port = server.port();
    let mut out = ask(case, port);
    let is_http2 = server.speaks_http2();
    let seen = server.stop();
    if seen.len() != 1 || is_http2 {
        let shown = |text: &String| json!({ "request_text": leave_out(text, port) });
        out["requests_seen"] = seen.iter().map(shown).collect();
    }
    out
}

/// Runs the probe of a case whose server listens at that port.
fn ask(case: &Value, port: u16) -> Value {
    let case = fill_in(case, port);
    let action: HttpGetAction = input::read(&case["http_get"]);
    let pod_ip = case["pod_ip"].as_str().unwrap_or_default();
    let seconds = case["timeout_seconds"].as_i64().unwrap_or_default();
    let timeout = ProbeTimeout::from_seconds(i32::try_from(seconds).expect("a number of seconds"));
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let version = input::version(&case);
    let user_agent = format!("kube-probe/{}.{}", version.major, version.minor);
    let start = Instant::now();
    let attempt = match build_request(&action, &[], pod_ip, &user_agent) {
        Ok(request) => runtime.block_on(probe_http(request, timeout)),
        Err(error) => Attempt {
            result: ProbeResult::Unknown,
            error: Some(error.to_string()),
            ..Attempt::default()
        },
    };
    let took = start.elapsed();
    runtime.shutdown_background();
    shown(&attempt, whole_time(took, seconds), port)
}

fn shown(attempt: &Attempt, whole_time: Option<u64>, port: u16) -> Value {
    let mut out = json!({
        "result": attempt.result.to_string(),
        "error": attempt.error.as_ref().map(|text| without_ports(text, port)),
    });
    let message = &attempt.output.0;
    match std::str::from_utf8(message) {
        _ if message.len() > LONG => {
            let start = message.get(..80).unwrap_or_default();
            out["message_length_bytes"] = message.len().into();
            out["message_sha256"] = sha256(message).into();
            out["message_first_80_bytes"] = String::from_utf8_lossy(start).into();
        }
        Ok(text) => out["message_text"] = without_ports(text, port).into(),
        Err(_) => out["message_base64"] = base64(message).into(),
    }
    if let Some(seconds) = whole_time {
        out["took_seconds_rounded"] = seconds.into();
    }
    out
}

/// Leaves out the ports of both sides.
fn without_ports(text: &str, port: u16) -> String {
    let text = leave_out(text, port);
    let Some((own, peer)) = text.split_once("->") else { return text };
    let own = own.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{own}{{client_port}}->{peer}")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let three = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
