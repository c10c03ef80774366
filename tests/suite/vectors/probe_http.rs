//! HTTP probes: the bytes of their requests, and what answers mean.

use super::input;
use kq_k8s::pod::{ContainerPort, HttpGetAction};
use kq_probe::http::build_request;
use serde_json::{Value, json};

mod response;
mod server;

pub fn answer(case: &Value) -> Value {
    match case["kind"].as_str() {
        Some("request") => request(case),
        Some("response") => response::answer(case),
        kind => json!({ "error": format!("unknown kind {kind:?}") }),
    }
}

fn request(case: &Value) -> Value {
    let action: HttpGetAction = input::read(&case["http_get"]);
    let ports: Vec<ContainerPort> = input::read(&case["container_ports"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = &case["kubelet_version"];
    let user_agent = format!("kube-probe/{}.{}", text(&version["major"]), text(&version["minor"]));
    let request = match build_request(&action, &ports, &text(&case["pod_ip"]), &user_agent) {
        Ok(request) => request,
        Err(error) => {
            let stage = "building the request";
            return json!({
                "probe_result": "unknown", "error": error.to_string(), "stage": stage,
            });
        }
    };
    let url = request.url_with_password();
    match request.prepare() {
        Ok(prepared) => {
            let mut out = json!({
                "probe_result": "success",
                "url": url,
                "dial_address": prepared.dial_address,
                "request_text": String::from_utf8(prepared.bytes).expect("the cases are UTF-8"),
            });
            if prepared.is_tls {
                out["tls_server_name"] = prepared.server_name.into();
                out["tls_alpn_offered"] = prepared.alpn.into();
            }
            out
        }
        Err(cause) => json!({
            "probe_result": "failure",
            "probe_message": request.failure_text(&cause),
            "stage": "sending the request",
            "url": url,
        }),
    }
}
