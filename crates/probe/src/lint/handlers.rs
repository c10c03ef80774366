//! The requests of probes and their hosts, and what the commands of exec probes name: only variables that the container
//! itself lists with a value (`ExpandContainerCommandOnlyStatic`, `pkg/kubelet/container/helpers.go`).

use super::rule::ProbeRule;
use super::{Found, Probed};
use crate::http::build_request;
use crate::injected::{injected, is_proxy};
use crate::resolve_port;
use kq_k8s::pod::{EnvVar, ExecAction, Handler, HttpGetAction, IntOrString, Probe, ProbeType};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Found> {
    let mut findings = Vec::new();
    findings.extend(same_handler(probed));
    for (kind, path, probe) in probed.probes() {
        let Some(handler) = probe.handler() else { continue };
        if let Some(injected) = injected(probed.spec, probed.container, probe) {
            findings.push((path, ProbeRule::Injected(injected)));
            continue;
        }
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
            if !ports.is_empty()
                && !is_proxy(probed.container)
                && !ports.iter().any(|port| port.container_port == *number) =>
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
    let mut seen = BTreeSet::new();
    for (at, header) in get.http_headers.iter().enumerate() {
        let name = header.name.to_ascii_lowercase();
        let field = format!("{path}.httpHeaders[{at}]");
        let is_first = seen.insert(name.clone());
        let not_sent = |repeated| ProbeRule::HeaderNotSent { name: header.name.clone(), repeated };
        if NOT_SENT.contains(&name.as_str()) {
            findings.push((field, not_sent(false)));
        } else if SENT_ONCE.contains(&name.as_str()) && !is_first {
            findings.push((field, not_sent(true)));
        } else if name == "accept" && is_first && header.value.is_empty() && !header.value_withheld
        {
            findings.push((field, ProbeRule::NoAcceptHeader));
        }
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

pub(super) fn variables(probed: &Probed<'_>) -> Vec<Found> {
    let mut findings = Vec::new();
    for (_, path, probe) in probed.probes() {
        findings.extend(probe.exec.iter().filter_map(|exec| one_word(&path, exec)));
        // The last of several of a name counts.
        let env = || probed.container.env.iter().map(|variable| (variable.name.as_str(), variable));
        let env: BTreeMap<&str, &EnvVar> = probe.exec.iter().flat_map(|_| env()).collect();
        let command = probe.exec.iter().flat_map(|exec| &exec.command).enumerate();
        let script = probe.exec.as_ref().and_then(script);
        let named = command.flat_map(|(at, text)| names(text).map(move |name| (at, name)));
        for (at, name) in named.filter(|(at, name)| is_meant(name, script == Some(*at))) {
            let field = format!("{path}.exec.command[{at}]");
            let name = name.to_owned();
            let rule = match env.get(name.as_str()) {
                None => ProbeRule::UnknownVariable { name },
                Some(variable) if variable.value_from.is_some() => {
                    ProbeRule::VariableFromElsewhere { name }
                }
                Some(_) => continue,
            };
            findings.push((field, rule));
        }
    }
    findings
}

/// Returns the names between `$(` and `)`; `$$` stands for a dollar that begins nothing.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('$')?;
            match after.strip_prefix('(') {
                Some(inner) => match inner.split_once(')') {
                    Some((name, after)) => {
                        rest = after;
                        return Some(name);
                    }
                    // Nor does one come later.
                    None => return None,
                },
                None => rest = after.strip_prefix('$').unwrap_or(after),
            }
        }
    })
}

/// Returns true if `$(name)` is meant as a variable. The kubelet takes whatever stands there for a
/// name, and passes on what it does not know: a substitution of a shell, as `$(cat file)` or `$((1 + 2))`, does
/// what is expected of it. In a script, `$(date)` is one as well.
fn is_meant(name: &str, in_script: bool) -> bool {
    let (letters, others): (fn(&u8) -> bool, &[u8]) = match in_script {
        true => (u8::is_ascii_uppercase, b"_"),
        false => (u8::is_ascii_alphabetic, b"_-."),
    };
    let begins = |byte: u8| letters(&byte) || others.contains(&byte);
    name.bytes().next().is_some_and(begins)
        && name.bytes().all(|byte| begins(byte) || byte.is_ascii_digit())
}

/// Returns which word of a command is a script: what follows `-c` of a shell.
fn script(exec: &ExecAction) -> Option<usize> {
    const SHELLS: [&str; 7] = ["sh", "bash", "ash", "dash", "ksh", "zsh", "busybox"];
    let program = exec.command.first()?.rsplit('/').next()?;
    let is_option = |word: &String| {
        let letters = word.strip_prefix('-');
        letters.is_some_and(|letters| !letters.starts_with('-') && letters.ends_with('c'))
    };
    let option = exec.command.iter().position(is_option)?;
    SHELLS.contains(&program).then_some(option + 1)
}

/// Finds a whole command line used as the name of a program.
fn one_word(path: &str, exec: &ExecAction) -> Option<Found> {
    let [word] = &exec.command[..] else { return None };
    let rule = ProbeRule::OneWord { word: word.clone() };
    word.trim().contains(char::is_whitespace).then(|| (format!("{path}.exec.command[0]"), rule))
}
