//! What `run` in `cmd/kubelet/app/server.go` takes: the lock, the name of the node, and the container runtime at its
//! endpoint (`PreInitRuntimeService` in `pkg/kubelet/kubelet.go`, `NewRemoteRuntimeService` and `NewRemoteImageService` in
//! `k8s.io/cri-client/pkg`, endpoints in `util/util_unix.go` there).

use super::{Stage, Start, StartExamination, StartRule};
use kq_facts::start_files::StartFile;
use kq_k8s::duration::GoDuration;
use kq_k8s::go_text::{parse_bool, quote};
use serde_json::Value;

/// Takes the lock, and the name of the node (the begin of `run`).
pub(super) fn lock_and_name(start: &Start<'_>, found: &mut StartExamination) {
    let Some(process) = start.facts.process else { return };
    let exits =
        process.last("exit-on-lock-contention").is_some_and(|on| parse_bool(on) == Ok(true));
    let lock = process.path_of("lock-file");
    match lock {
        None if exits => {
            let error = "cannot exit on lock file contention: no lock file specified";
            found.refuse(Stage::Run, "--lock-file", error);
        }
        None => {}
        Some(path) => {
            let why = match start.facts.files.and_then(|files| files.get(&path)) {
                Some(StartFile::Folder) => Some("is a directory"),
                _ => None,
            };
            if let Some(why) = why {
                let error = format!("unable to acquire file lock on {}: {why}", quote(&path));
                found.stop(Stage::Run, StartRule::NamedFile { by: "lock-file", path, error });
            }
        }
    }
    let name = process.last("hostname-override");
    if name.is_some_and(|name| !name.is_empty() && name.trim().is_empty()) {
        found.refuse(Stage::Run, "--hostname-override", "empty hostname is invalid");
    }
}

/// Connects to the runtime and to the image service, as far as their sockets say.
pub(super) fn endpoints(start: &Start<'_>, found: &mut StartExamination) {
    let facts = start.facts;
    let runtime = start.read.effective.container_runtime_endpoint.clone();
    timeout(start, found, &runtime);
    let image = found.config.get("imageServiceEndpoint").and_then(Value::as_str);
    let image = image.unwrap_or_default().to_owned();
    for (field, service, endpoint) in
        [("containerRuntimeEndpoint", "runtime", runtime), ("imageServiceEndpoint", "image", image)]
    {
        if endpoint.is_empty() {
            continue;
        }
        let error = match path_of(&endpoint) {
            Err(error) => Some(error),
            Ok(_) if service == "runtime" && facts.runtime_answers == Some(true) => None,
            Ok(path) => match facts.files.and_then(|files| files.get(path)) {
                file @ (None | Some(StartFile::Socket)) => {
                    found.is_runtime_silent |= service == "runtime"
                        && file.is_some()
                        && facts.runtime_answers == Some(false);
                    found.skip(
                        "a container runtime that does not answer",
                        "the answers of the runtime",
                    );
                    None
                }
                Some(StartFile::Absent) => {
                    Some(unavailable(service, &endpoint, path, "no such file or directory"))
                }
                Some(_) => Some(unavailable(service, &endpoint, path, "connection refused")),
            },
        };
        if let Some(error) = error {
            found.stop(Stage::Run, StartRule::Endpoint { field, endpoint, error });
        }
    }
}

/// Asks the runtime for its version within `runtimeRequestTimeout`, which no time is enough for (`NewRemoteRuntimeService`).
fn timeout(start: &Start<'_>, found: &mut StartExamination, endpoint: &str) {
    const FIELD: &str = "runtimeRequestTimeout";
    let set = found.config.get(FIELD).and_then(Value::as_str);
    let Some(set) = set.and_then(|text| text.parse::<GoDuration>().ok()) else { return };
    // A file with zero has the default.
    if set.0 < 0 || (set.0 == 0 && start.said.flag_of(FIELD).is_some()) {
        let error = format!(
            "validate service connection: validate CRI v1 runtime API for endpoint {}: rpc error: code = \
             DeadlineExceeded desc = context deadline exceeded",
            quote(endpoint)
        );
        found.refuse(Stage::Run, FIELD, error);
    }
}

/// Returns the socket of an endpoint (`GetAddressAndDialer`).
fn path_of(endpoint: &str) -> Result<&str, String> {
    let Some((scheme, rest)) = endpoint.split_once("://") else { return Ok(endpoint) };
    match scheme {
        "unix" => Ok(rest.find('/').map_or("", |at| &rest[at..])),
        "tcp" => Err("only support unix socket endpoint".to_owned()),
        other => Err(format!("protocol {} not supported", quote(other))),
    }
}

fn unavailable(service: &str, endpoint: &str, path: &str, why: &str) -> String {
    format!(
        "validate service connection: validate CRI v1 {service} API for endpoint {}: rpc error: code = Unavailable \
         desc = connection error: desc = \"transport: Error while dialing: dial unix {path}: connect: {why}\"",
        quote(endpoint)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_sockets() {
        for (endpoint, expected) in [
            ("unix:///run/crio/crio.sock", Ok("/run/crio/crio.sock")),
            ("/run/crio/crio.sock", Ok("/run/crio/crio.sock")),
            ("tcp://127.0.0.1:1", Err("only support unix socket endpoint")),
            ("npipe:////x", Err("protocol \"npipe\" not supported")),
        ] {
            assert_eq!(path_of(endpoint), expected.map_err(str::to_owned), "{endpoint}");
        }
    }
}
