//! What is asked, and whom.

use super::{Probed, info, warning};
use crate::answer::Finding;
use crate::k8s::pod::{Handler, HttpGetAction, IntOrString, Probe, ProbeType};
use crate::probe::http::build_request;
use crate::probe::resolve_port;

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(same_handler(probed));
    for (kind, path, probe) in probed.probes() {
        let Some(handler) = probe.handler() else { continue };
        match handler {
            Handler::HttpGet(get) => {
                let path = format!("{path}.httpGet");
                findings.extend(port(probed, kind, &path, &get.port));
                findings.extend(other_host(probed, &path, &get.host));
                findings.extend(https(&path, get));
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
                findings.push(plaintext(&path));
                findings.extend(node_network(probed, &path, ""));
            }
            Handler::Exec(_) => {}
        }
    }
    findings
}

/// Says that a container is killed for what should only keep requests away.
fn same_handler(probed: &Probed<'_>) -> Option<Finding> {
    let (liveness, readiness) = (probed.liveness.as_ref()?, probed.readiness.as_ref()?);
    // What is not known cannot be the same.
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
    let (killed, unready) = (budget(liveness), budget(readiness));
    let field = format!("{}.livenessProbe", probed.path);
    let found = format!(
        "asks the same as the readiness probe; about {killed} s of failures kill the container, about \
         {unready} s keep requests away"
    );
    let advice = "let liveness ask only whether the process is stuck, or give it a much larger \
                  failureThreshold";
    Some(if killed <= unready {
        warning("same-handler", field, found)
            .because("a container that is only busy is killed before it is relieved of requests")
            .advise(advice)
    } else {
        info("same-handler", field, found)
            .because("a dependency that is down for longer restarts every container, which brings nothing back")
            .advise(advice)
    })
}

/// What becomes of errors of the prober, which never count.
fn of_errors(kind: ProbeType) -> &'static str {
    match kind {
        ProbeType::Startup => {
            "the kubelet throws the result away: the container never counts as started, and nobody kills it"
        }
        ProbeType::Readiness => {
            "the kubelet throws the result away: the container never gets ready"
        }
        ProbeType::Liveness => "the kubelet throws the result away: the container is never killed",
    }
}

fn port(probed: &Probed<'_>, kind: ProbeType, path: &str, port: &IntOrString) -> Option<Finding> {
    let ports = &probed.container.ports;
    let field = format!("{path}.port");
    match (port, resolve_port(port, ports)) {
        (IntOrString::String(name), Err(error)) => {
            let found = format!("no port of the container is named {name}: {error}");
            let advice = "name a port of this container, or take its number";
            Some(warning("unknown-port-name", field, found).because(of_errors(kind)).advise(advice))
        }
        (IntOrString::Int(number), Ok(_))
            if !ports.is_empty() && !ports.iter().any(|port| port.container_port == *number) =>
        {
            let found = format!("the container lists ports, and {number} is none of them");
            let why =
                "the kubelet does not mind, but a port that was moved is easily forgotten here";
            let advice = "list the port with a name, and let the probe name it";
            Some(info("undeclared-port", field, found).because(why).advise(advice))
        }
        _ => None,
    }
}

fn other_host(probed: &Probed<'_>, path: &str, host: &str) -> Option<Finding> {
    if host.is_empty() {
        return None;
    }
    let field = format!("{path}.host");
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match (is_loopback, probed.spec.host_network) {
        // On the node's network it is where the container listens.
        (true, true) => None,
        (true, false) => Some(
            warning("host-is-the-node", field, format!("{host} is the node, not the pod"))
                .because("the kubelet connects from the node's network, and whoever listens there answers")
                .advise("leave host out: then the pod's IP is taken"),
        ),
        (false, _) => Some(
            info("other-host", field, format!("{host} is asked instead of the pod's IP"))
                .because("the probe says how that host is, not this container; its name is looked up by the \
                          node")
                .advise("leave host out; for a virtual host, set the header Host"),
        ),
    }
}

fn node_network(probed: &Probed<'_>, path: &str, host: &str) -> Option<Finding> {
    (probed.spec.host_network && host.is_empty()).then(|| {
        let found = "the pod has the node's network: the port is one of the node's";
        info("host-network", path, found)
            .because("another process that has the port already answers instead")
            .advise("make sure that the port is the container's own on every node")
    })
}

fn https(path: &str, get: &HttpGetAction) -> Option<Finding> {
    get.scheme.eq_ignore_ascii_case("https").then(|| {
        let found =
            "the certificate is not checked: neither its name, nor its dates, nor who signed it";
        info("https-not-verified", format!("{path}.scheme"), found)
            .because("a certificate that has expired does not fail the probe")
            .advise("watch the dates of certificates elsewhere")
    })
}

fn plaintext(path: &str) -> Finding {
    let found = "the kubelet speaks gRPC without TLS only";
    info("grpc-plaintext", path, found)
        .because("a server that wants TLS on this port never answers")
        .advise("serve the health service on a port without TLS, or use an exec probe")
}

fn headers(path: &str, get: &HttpGetAction) -> Vec<Finding> {
    const NOT_SENT: [&str; 3] = ["content-length", "transfer-encoding", "trailer"];
    const SENT_ONCE: [&str; 2] = ["host", "user-agent"];
    let mut findings = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (at, header) in get.http_headers.iter().enumerate() {
        let name = header.name.to_ascii_lowercase();
        let field = format!("{path}.httpHeaders[{at}]");
        let is_first = !seen.contains(&name);
        if NOT_SENT.contains(&name.as_str()) {
            findings.push(
                warning("header-not-sent", field, format!("{} is not sent", header.name))
                    .because(
                        "the client of the kubelet writes it by itself, and for a GET not at all",
                    )
                    .advise("leave it out"),
            );
        } else if SENT_ONCE.contains(&name.as_str()) && !is_first {
            findings.push(
                warning(
                    "header-not-sent",
                    field,
                    format!("only the first {} is sent", header.name),
                )
                .because("further values are dropped without a word")
                .advise("leave all but one out"),
            );
        } else if name == "accept" && is_first && header.value.is_empty() && !header.value_withheld
        {
            findings.push(
                info("no-accept-header", field, "no header Accept is sent, further values neither")
                    .because("an empty value asks for that; without the header it would be */*")
                    .advise("leave it out unless the server minds */*"),
            );
        }
        seen.push(name);
    }
    findings
}

/// Makes the request, with an address that stands for the pod's, and says if that is refused, or if it asks
/// for another path than was written.
fn refused(
    probed: &Probed<'_>,
    kind: ProbeType,
    path: &str,
    get: &HttpGetAction,
) -> Option<Finding> {
    let mut get = get.clone();
    // What is not known of headers is not looked at.
    get.http_headers.retain(|header| !header.value_withheld);
    resolve_port(&get.port, &probed.container.ports).ok()?;
    let request = match build_request(&get, &probed.container.ports, "192.0.2.1", "kube-probe") {
        Ok(request) => request,
        Err(error) => {
            return Some(
                warning("no-request", path, format!("no request can be made: {error}"))
                    .because(of_errors(kind))
                    .advise("correct host and path"),
            );
        }
    };
    let prepared = match request.prepare() {
        Ok(prepared) => prepared,
        Err(cause) => {
            return Some(
                warning("request-refused", path, format!("every probe fails: {cause}"))
                    .because("the client of the kubelet refuses the request before it connects")
                    .advise("correct what it names"),
            );
        }
    };
    let target = prepared.h2.path;
    let written = get.path.as_bytes();
    let same = target == written || target.strip_prefix(b"/") == Some(written);
    (!same && prepared.h2.refused.is_none()).then(|| {
        let target = String::from_utf8_lossy(&target);
        info("path-rewritten", format!("{path}.path"), format!("{target} is asked for"))
            .because("the path is read as a URL reference: a host and a fragment are cut off, bytes that \
                      no path has are escaped, and what is no reference is escaped with its ? and #")
            .advise("write the path as it is to be sent")
    })
}
