//! The sysctls that pods may set.

use super::input;
use kq_k8s::sysctl::{FORBIDDEN_REASON, SysctlAllowlist, normalize, safe_sysctls, sysctls};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let kernel = case["kernel_version"].as_str();
    let patterns: Vec<String> = input::read(&case["allowed_unsafe_sysctls"]);
    let mut out = json!({ "safe_sysctls": safe_sysctls(kernel), "allowlist_error": null });
    let list = match SysctlAllowlist::new(&patterns, kernel) {
        Ok(list) => list,
        Err(error) => {
            out["allowlist_error"] = error.to_string().into();
            return out;
        }
    };
    if case["pod"].is_null() {
        return out;
    }
    let pod = input::pod(&case["pod"]);
    let refusal = list.admit(&pod).err().map(|error| error.to_string());
    out["admit"] = refusal.is_none().into();
    out["reason"] = refusal.as_ref().map_or("", |_| FORBIDDEN_REASON).into();
    out["message"] = refusal.unwrap_or_default().into();
    out["names_for_runtime"] = sysctls(&pod).map(normalize).collect();
    out
}
