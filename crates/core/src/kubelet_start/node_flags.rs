//! Flags whose values the kubelet reads late: `RunKubelet` in `cmd/kubelet/app/server.go`, `GetHostname` and
//! `ParseNodeIPArgument` in `k8s.io/component-helpers/node/util`, `NewMainKubelet` in `pkg/kubelet/kubelet.go`.

use super::{Stage, Start, StartExamination};
use kq_k8s::go_text::quote;
use std::net::IpAddr;

fn last<'a>(start: &Start<'a>, flag: &str) -> Option<&'a str> {
    start.facts.process?.last(flag)
}

/// Reads the addresses of the node.
pub(super) fn node_ip(start: &Start<'_>, found: &mut StartExamination) {
    let Some(given) = last(start, "node-ip").filter(|given| !given.is_empty()) else { return };
    let provider = last(start, "cloud-provider").unwrap_or_default();
    if let Err(why) = node_ips(given, matches!(provider, "" | "external")) {
        let error = format!("bad --node-ip {}: {why}", quote(given));
        found.refuse(Stage::Run, "--node-ip", error);
    }
}

/// Checks the addresses; what is none is passed over.
fn node_ips(given: &str, allows_two: bool) -> Result<(), &'static str> {
    let all: Vec<IpAddr> = given.split(',').filter_map(|ip| address(ip.trim())).collect();
    match all.as_slice() {
        [] | [_] => Ok(()),
        [one, other] if one.is_ipv6() != other.is_ipv6() => {
            if !allows_two {
                return Err("dual-stack not supported in this configuration");
            }
            match one.is_unspecified() || other.is_unspecified() {
                true => Err("dual-stack node IP cannot include '0.0.0.0' or '::'"),
                false => Ok(()),
            }
        }
        _ => Err("must contain either a single IP or a dual-stack pair of IPs"),
    }
}

/// Reads an address as `ParseIPSloppy` does: zeros may lead.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    let part = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let parts: Vec<String> = text.split('.').map(part).collect();
    text.parse().ok().or_else(|| parts.join(".").parse().ok())
}

/// Checks the flags that the kubelet refuses when it is created.
pub(super) fn created(start: &Start<'_>, found: &mut StartExamination) {
    if last(start, "root-dir") == Some("") {
        found.refuse(Stage::Create, "--root-dir", "invalid root directory \"\"");
    }
    let provider = last(start, "cloud-provider").unwrap_or_default();
    if !matches!(provider, "" | "external") {
        let error = format!(
            "cloud provider {} was specified, but built-in cloud providers are disabled. Please set \
             --cloud-provider=external and migrate to an external cloud provider",
            quote(provider)
        );
        found.refuse(Stage::Create, "--cloud-provider", error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one_or_a_pair() {
        for (given, allows_two, expected) in [
            ("10.0.0.1", true, Ok(())),
            ("nonsense", true, Ok(())),
            ("10.0.0.1,fd00::1", true, Ok(())),
            ("10.0.0.1, fd00::1", false, Err("dual-stack not supported")),
            ("10.0.0.1,10.0.0.2", true, Err("must contain either")),
            ("010.0.0.1,10.0.0.2", true, Err("must contain either")),
            ("0.0.0.0,fd00::1", true, Err("dual-stack node IP cannot include")),
            ("10.0.0.1,fd00::1,fd00::2", true, Err("must contain either")),
        ] {
            match (node_ips(given, allows_two), expected) {
                (Err(why), Err(expected)) => assert!(why.starts_with(expected), "{given}: {why}"),
                (said, expected) => assert_eq!(said, expected, "{given}"),
            }
        }
    }
}
