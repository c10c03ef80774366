//! TCP connections to listeners of every kind on loopback.

use super::probe_server::{Listener, fill_in, leave_out, whole_time};
use kq_k8s::pod::{ContainerPort, TcpSocketAction};
use kq_linux::probe::dial::probe_tcp;
use kq_probe::{Attempt, Cause, ProbeTimeout, tcp_target};
use serde_json::{Value, json};
use std::time::Instant;

pub fn answer(input: &Value) -> Value {
    let listener = Listener::start(
        input["listener_address"].as_str().expect("an address"),
        input["listener"].as_str().expect("a kind"),
    );
    let input = fill_in(input, listener.port());
    let action: TcpSocketAction =
        serde_json::from_value(input["tcp_socket"].clone()).expect("an action");
    let ports: Vec<ContainerPort> =
        serde_json::from_value(input["container_ports"].clone()).expect("ports");
    let seconds: i32 = serde_json::from_value(input["timeout_seconds"].clone()).expect("seconds");
    let start = Instant::now();
    let attempt = match tcp_target(&action, &ports, input["pod_ip"].as_str().expect("an ip")) {
        Ok(target) => listener.run(probe_tcp(&target, ProbeTimeout::from_seconds(seconds))),
        Err(error) => Attempt::error(Cause::Request, error.to_string()),
    };
    let took = start.elapsed();
    let mut out = json!({
        "result": attempt.result.to_string(),
        "error": attempt.error,
        "message": leave_out(&attempt.output.text(), listener.port()),
    });
    if let Some(seconds) = whole_time(took, seconds.into()) {
        out["took_seconds_rounded"] = json!(seconds);
    }
    out
}
