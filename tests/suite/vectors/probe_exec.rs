//! Commands in containers: expansion, exit codes, output, timeouts.

use super::digest::sha256;
use kq_k8s::pod::{EnvVar, ExecAction};
use kq_probe::{Attempt, ExecReply, ExecRequest, GrpcStatus, ProbeResult, exec_attempt, expand};
use serde_json::{Map, Value, json};

pub fn answer(input: &Value) -> Value {
    let action: ExecAction = serde_json::from_value(input["exec"].clone()).expect("an action");
    let env: Vec<EnvVar> = serde_json::from_value(input["container_env"].clone()).expect("an env");
    let request = ExecRequest {
        container_id: "abc123".to_owned(),
        command: expand(&action.command, &env, &super::input::rules(input)).command,
        timeout_seconds: serde_json::from_value(input["timeout_seconds"].clone()).expect("seconds"),
    };
    let attempt = exec_attempt(&request, reply(&input["runtime_reply"]), true);
    let mut out = attempt_value(&attempt);
    out["runtime_request"] = json!({
        "container_id": request.container_id,
        "command": request.command,
        "timeout_seconds": request.timeout_seconds,
    });
    // What Go marshals of no command.
    if input["exec"]["command"].is_null() {
        out["runtime_request"]["command"] = Value::Null;
    }
    out
}

fn reply(said: &Value) -> ExecReply {
    match said["grpc_code"].as_u64() {
        Some(code) => {
            let message = said["grpc_message"].as_str().expect("a text");
            ExecReply::Failed(GrpcStatus::new(u32::try_from(code).expect("a code"), message))
        }
        None => ExecReply::Ended {
            exit_code: serde_json::from_value(said["exit_code"].clone()).expect("an exit code"),
            stdout: stream(said, "stdout"),
            stderr: stream(said, "stderr"),
        },
    }
}

fn stream(said: &Value, name: &str) -> Vec<u8> {
    if let Some(text) = said[format!("{name}_text")].as_str() {
        return text.as_bytes().to_owned();
    }
    if let Some(text) = said[format!("{name}_base64")].as_str() {
        return base64(text);
    }
    let repeat = &said[format!("{name}_repeat")];
    let count = repeat["count"].as_u64().expect("a count") as usize;
    repeat["text"].as_str().expect("a text").repeat(count).into_bytes()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|digit| *digit == byte).expect("base64");
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn to_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { digit as char } else { '=' });
        }
    }
    text
}

/// An attempt as the vectors have it.
fn attempt_value(attempt: &Attempt) -> Value {
    let mut out = Map::new();
    out.insert("result".to_owned(), result(attempt.result));
    out.insert("error".to_owned(), json!(attempt.error));
    let bytes = &attempt.output.0;
    let text = std::str::from_utf8(bytes);
    if bytes.len() > 1000 {
        let first = String::from_utf8_lossy(&bytes[..80]).into_owned();
        out.insert("message_first_80_bytes".to_owned(), json!(first));
        out.insert("message_length_bytes".to_owned(), json!(bytes.len()));
        out.insert("message_sha256".to_owned(), json!(sha256(bytes)));
    } else if let Ok(text) = text {
        out.insert("message_text".to_owned(), json!(text));
    } else {
        out.insert("message_base64".to_owned(), json!(to_base64(bytes)));
    }
    Value::Object(out)
}

fn result(result: ProbeResult) -> Value {
    json!(result.to_string())
}
