//! gRPC health checks of servers of every kind on loopback.

use super::input::version;
use super::probe_server::{Listener, fill_in, leave_out, whole_time};
use kq_k8s::pod::GrpcAction;
use kq_linux::probe::grpc::probe_grpc;
use kq_probe::{grpc_target, grpc_user_agent};
use serde_json::{Value, json};
use std::time::Instant;

mod server;

pub fn answer(input: &Value) -> Value {
    let kind = input["server"].as_str().expect("a kind");
    let pod_ip = input["pod_ip"].as_str().expect("an ip");
    let (listener, asked) = match kind {
        "health" | "no_health_service" => server::start(pod_ip, kind, &input["server_reply"]),
        other => (Listener::start(pod_ip, other), Default::default()),
    };
    let port = listener.port();
    let input = fill_in(input, port);
    let action: GrpcAction = serde_json::from_value(input["grpc"].clone()).expect("an action");
    let part = |name: &str| input["kubelet_version"][name].as_str().expect("a version");
    let agent = format!("kube-probe/{}.{}", part("major"), part("minor"));
    let agent = grpc_user_agent(&agent, version(&input));
    let seconds: i32 = serde_json::from_value(input["timeout_seconds"].clone()).expect("seconds");

    let start = Instant::now();
    let attempt = listener.run(probe_grpc(&grpc_target(&action, pod_ip), &agent, seconds));
    let took = start.elapsed();

    let mut out = json!({
        "result": attempt.result.to_string(),
        "error": attempt.error,
        "message_text": leave_out(&attempt.output.text(), port),
    });
    if let Some(seconds) = whole_time(took, seconds.into()) {
        out["took_seconds_rounded"] = json!(seconds);
    }
    if kind == "health" {
        let asked = asked.lock().expect("no panic").clone();
        if let Some(asked) = asked {
            let text = leave_out(&asked.to_string(), port);
            out["request_seen_by_server"] = serde_json::from_str(&text).expect("still JSON");
        }
    }
    out
}
