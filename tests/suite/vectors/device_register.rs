//! Whether the kubelet takes a plugin in.

use super::input;
use kq_k8s::duration::GoDuration;
use kq_managers::manager::{DIAL_PATIENCE, RegistrationError, check_plugin, check_registration};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let refused = refused(case);
    let mut out = json!({
        "accepted": refused.is_none(),
        "error": refused.as_ref().map(RegistrationError::to_string),
    });
    if matches!(refused, Some(RegistrationError::Dial(_))) {
        out["gives_up_after_seconds"] = json!(DIAL_PATIENCE.0 / GoDuration::SECOND.0);
    }
    out
}

fn refused(case: &Value) -> Option<RegistrationError> {
    let name: String = input::read(&case["resource_name"]);
    let checked = match case["path"].as_str() {
        Some("Register") => check_registration(&input::read::<String>(&case["version"]), &name),
        _ => check_plugin(&input::read::<Vec<String>>(&case["versions"]), &name),
    };
    if checked.is_err() {
        return checked.err();
    }
    if case["plugin_socket"] == "does not exist" {
        return Some(RegistrationError::no_answer());
    }
    let options = case["get_device_plugin_options_error"].as_str();
    options.map(|error| RegistrationError::Options(error.to_owned()))
}
