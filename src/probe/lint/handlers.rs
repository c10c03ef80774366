//! The requests of probes and their hosts.

use super::rule::ProbeRule;
use super::{Found, Probed};
use crate::k8s::pod::{Handler, HttpGetAction, IntOrString, Probe, ProbeType};
use crate::probe::http::build_request;
use crate::probe::resolve_port;

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Found> {
    let mut findings = Vec::new();
    findings.extend(same_handler(probed));
    for (kind, path, probe) in probed.probes() {
        let Some(handler) = probe.handler() else { continue };
        match handler {
            Handler::HttpGet(get) => {
                let path = format!("{path}.httpGet");
                findings.extend(port(probed, kind, &path, &get.port));
                findings.extend(other_host(probed, &path, &get.host));
                if get.scheme.eq_ignore_ascii_case("https") {
                    findings.push((format!("{path}.scheme"), ProbeRule::HttpsNotVerified));
                }
                findings.extend(headers(&path, get));
                findings.extend(refused(probed, kind, &path, get));
                findings.extend(node_network(probed, &path, &get.host));
            }
            Handler::TcpSocket(socket) => {
                let path = format!("{path}.tcpSocket");
                findings.extend(port(probed, kind, &path, &socket.port));
                findings.extend(other_host(probed, &path, &socket.host));
                findings.extend(node_network(probed, &path, &socket.host));
            }
            Handler::Grpc(grpc) => {
                let path = format!("{path}.grpc");
                findings.extend(port(probed, kind, &path, &IntOrString::Int(grpc.port)));
                findings.push((path.clone(), ProbeRule::GrpcPlaintext));
                findings.extend(node_network(probed, &path, ""));
            }
            Handler::Exec(_) => {}
        }
    }
    findings
}

/// Finds liveness probes that kill a container where readiness should stop requests.
fn same_handler(probed: &Probed<'_>) -> Option<Found> {
    let (liveness, readiness) = (probed.liveness.as_ref()?, probed.readiness.as_ref()?);
    // Unknown values are never the same.
    let is_withheld = match liveness.handler()? {
        Handler::Exec(exec) => exec.command_withheld,
        Handler::HttpGet(get) => {
            get.query_withheld || get.http_headers.iter().any(|header| header.value_withheld)
        }
        Handler::TcpSocket(_) | Handler::Grpc(_) => false,
    };
    if is_withheld || liveness.handler() != readiness.handler() {
        return None;
    }
    let budget = |probe: &Probe| {
        i64::from(probe.failure_threshold.max(0)) * i64::from(probe.period_seconds.max(0))
    };
    let rule = ProbeRule::SameHandler {
        killed_after_seconds: budget(liveness),
        unready_after_seconds: budget(readiness),
    };
    Some((format!("{}.livenessProbe", probed.path), rule))
}

fn port(
    probed: &Probed<'_>,
    probe_type: ProbeType,
    path: &str,
    port: &IntOrString,
) -> Option<Found> {
    let ports = &probed.container.ports;
    let rule = match (port, resolve_port(port, ports)) {
        (IntOrString::String(name), Err(error)) => {
            let (name, error) = (name.clone(), error.to_string());
            ProbeRule::UnknownPortName { probe_type, name, error }
        }
        (IntOrString::Int(number), Ok(_))
            if !ports.is_empty() && !ports.iter().any(|port| port.container_port == *number) =>
        {
            ProbeRule::UndeclaredPort { port: *number }
        }
        _ => return None,
    };
    Some((format!("{path}.port"), rule))
}

fn other_host(probed: &Probed<'_>, path: &str, host: &str) -> Option<Found> {
    if host.is_empty() {
        return None;
    }
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let host = host.to_owned();
    let rule = match (is_loopback, probed.spec.host_network) {
        // On the node's network it is where the container listens.
        (true, true) => return None,
        (true, false) => ProbeRule::HostIsTheNode { host },
        (false, _) => ProbeRule::OtherHost { host },
    };
    Some((format!("{path}.host"), rule))
}

fn node_network(probed: &Probed<'_>, path: &str, host: &str) -> Option<Found> {
    let applies = probed.spec.host_network && host.is_empty();
    applies.then(|| (path.to_owned(), ProbeRule::HostNetwork))
}

fn headers(path: &str, get: &HttpGetAction) -> Vec<Found> {
    const NOT_SENT: [&str; 3] = ["content-length", "transfer-encoding", "trailer"];
    const SENT_ONCE: [&str; 2] = ["host", "user-agent"];
    let mut findings = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (at, header) in get.http_headers.iter().enumerate() {
        let name = header.name.to_ascii_lowercase();
        let field = format!("{path}.httpHeaders[{at}]");
        let is_first = !seen.contains(&name);
        let not_sent = |repeated| ProbeRule::HeaderNotSent { name: header.name.clone(), repeated };
        if NOT_SENT.contains(&name.as_str()) {
            findings.push((field, not_sent(false)));
        } else if SENT_ONCE.contains(&name.as_str()) && !is_first {
            findings.push((field, not_sent(true)));
        } else if name == "accept" && is_first && header.value.is_empty() && !header.value_withheld
        {
            findings.push((field, ProbeRule::NoAcceptHeader));
        }
        seen.push(name);
    }
    findings
}

/// Makes the request, with an address that stands for the pod's, and says if that is refused, or if it asks
/// for another path than was written.
fn refused(
    probed: &Probed<'_>,
    probe_type: ProbeType,
    path: &str,
    get: &HttpGetAction,
) -> Option<Found> {
    let mut get = get.clone();
    // Unknown headers are not checked.
    get.http_headers.retain(|header| !header.value_withheld);
    resolve_port(&get.port, &probed.container.ports).ok()?;
    let request = match build_request(&get, &probed.container.ports, "192.0.2.1", "kube-probe") {
        Ok(request) => request,
        Err(error) => {
            let rule = ProbeRule::NoRequest { probe_type, error: error.to_string() };
            return Some((path.to_owned(), rule));
        }
    };
    let prepared = match request.prepare() {
        Ok(prepared) => prepared,
        Err(cause) => {
            let rule = ProbeRule::RequestRefused { error: cause.to_string() };
            return Some((path.to_owned(), rule));
        }
    };
    let target = prepared.h2.path;
    let written = get.path.as_bytes();
    let same = target == written || target.strip_prefix(b"/") == Some(written);
    (!same && prepared.h2.refused.is_none()).then(|| {
        let sent_path = String::from_utf8_lossy(&target).into_owned();
        (format!("{path}.path"), ProbeRule::PathRewritten { sent_path })
    })
}
