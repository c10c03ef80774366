//! Numbers and sockets that no template names: ports, places in sources, exit codes and the like.

/// Names the numbers of a text by what stands around them.
pub(super) fn name_rest(text: &str, put: &mut impl FnMut(&str, &str, &str)) {
    for word in text.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>".contains(c)) {
        let word = word.trim_end_matches([',', ';', '.', ':']);
        if let Some(port) = port(word) {
            put("port", port, "the port of the connection");
        }
        if let Some((file, line)) = word.rsplit_once(".go:")
            && is_number(line)
            && !file.is_empty()
        {
            let place = word.rsplit('/').next().unwrap_or(word);
            put("source line", place, "a line of the program's source, not of a file on the node");
        }
        if let Some(attempt) = word.strip_prefix("Attempt:").filter(|it| is_number(it)) {
            put(
                "Attempt",
                attempt,
                "the number of earlier sandboxes of the pod: 0 is the first one",
            );
        }
    }
    for (before, name, meaning) in BEFORE {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(before) {
            let value = after.trim_start_matches([' ', '=', ':']);
            let sign = usize::from(value.starts_with('-'));
            let end = value[sign..].find(|c: char| !c.is_ascii_digit());
            let end = sign + end.unwrap_or(value.len() - sign);
            if end > sign {
                put(name, &value[..end], meaning);
            }
            rest = after;
        }
    }
    if let Some((_, after)) = text.split_once("dial unix ") {
        let end = after.find(|c: char| c.is_whitespace() || "\"'".contains(c));
        let socket = after[..end.unwrap_or(after.len())].trim_end_matches(':');
        if socket.starts_with('/') {
            put("socket", socket, "the socket that was to be connected");
        }
    }
    if let Some(code) = grpc_code(text) {
        put("code", code, grpc_meaning(code));
    }
}

/// Names the NUMA nodes of a hint of the topology manager: `{"NUMANodeAffinity":3,"Preferred":false}`.
pub(super) fn name_masks(text: &str, put: &mut impl FnMut(&str, &str, &str)) {
    const KEY: &str = "\"NUMANodeAffinity\":";
    for (at, _) in text.match_indices(KEY) {
        let value = &text[at + KEY.len()..];
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        let Ok(mask) = value[..end].parse::<u64>() else { continue };
        let nodes = (0..64).filter(|node| mask >> node & 1 == 1).map(|node| node.to_string());
        let nodes: Vec<String> = nodes.collect();
        let nodes = match &nodes[..] {
            [] => "no NUMA node".to_owned(),
            [node] => format!("NUMA node {node}"),
            all => format!("the NUMA nodes {}", all.join(", ")),
        };
        put("NUMANodeAffinity", &value[..end], &format!("a bit mask: {nodes}"));
    }
}

/// Words before a number, its name, and what it is.
const BEFORE: [(&str, &str, &str); 12] = [
    ("exit status ", "exit status", "the exit code of the process: 0 is success"),
    ("exit code ", "exit code", "the exit code of the process: 0 is success"),
    ("exited with ", "exit code", "the exit code of the process: 0 is success"),
    ("exitCode=", "exit code", "the exit code of the process: 0 is success"),
    ("status=", "status", "the exit status of the process: 0 is success"),
    ("signal: ", "signal", "the signal that ended the process"),
    ("errno ", "errno", "the error number of the kernel"),
    ("error creating nvml.Device ", "device", "the index of the GPU in the plugin's own list"),
    ("status code: ", "status code", "the status of the HTTP response: 200 to 299 is success"),
    (
        "statuscode: ",
        "status code",
        "the status of the HTTP response: 200 to 399 is success for a probe",
    ),
    (
        "unexpected status code ",
        "status code",
        "the status of the HTTP response: 200 to 299 is success",
    ),
    ("unexpected status from HEAD request to ", "status", "the status of the HTTP response"),
];

/// Returns the port of `http://host:80/path`, `host:80` or `1.2.3.4:80->`.
fn port(word: &str) -> Option<&str> {
    let (scheme, rest) = word.split_once("://").map_or(("", word), |(scheme, rest)| (scheme, rest));
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.split("->").next()?;
    let (host, port) = authority.rsplit_once(':')?;
    let is_port = is_number(port) && port.parse::<u16>().is_ok();
    let is_host =
        host.contains('.') && !host.ends_with(".go") || host == "localhost" || !scheme.is_empty();
    let is_address =
        host.contains(':') && host.chars().all(|c| c.is_ascii_hexdigit() || ":[]%".contains(c));
    // `10:20:30` is a time.
    let is_time = host.chars().all(|c| c.is_ascii_digit() || c == ':');
    (is_port && (is_host || is_address) && !is_time && !host.is_empty()).then_some(port)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn grpc_code(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("code = ")?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    (end > 0).then(|| &after[..end])
}

/// Returns what a code of gRPC says about the server.
fn grpc_meaning(code: &str) -> &'static str {
    match code {
        "Unavailable" => "gRPC code: no server answers at the socket, or the connection broke",
        "DeadlineExceeded" => "gRPC code: the server did not answer within the kubelet's time",
        "Unimplemented" => "gRPC code: the server answers, but does not have this service or call",
        "NotFound" => "gRPC code: the server does not have what was asked for",
        "AlreadyExists" => "gRPC code: the server has it already",
        "PermissionDenied" | "Unauthenticated" => "gRPC code: the server refuses the caller",
        "ResourceExhausted" => "gRPC code: the answer is too large, or the server is at a limit",
        "InvalidArgument" => "gRPC code: the server refuses the request itself",
        "FailedPrecondition" => "gRPC code: the state of the object does not allow the call",
        "Aborted" | "Canceled" => "gRPC code: the call was given up",
        "Internal" => "gRPC code: the server failed within itself",
        _ => "gRPC code: the server gives no closer one; its words come after desc =",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_names_its_nodes() {
        let hints =
            r#"[{"NUMANodeAffinity":2,"Preferred":true},{"NUMANodeAffinity":5,"Preferred":false}]"#;
        let mut all = Vec::new();
        name_masks(hints, &mut |_, value, what| all.push(format!("{value}: {what}")));
        let expected = ["2: a bit mask: NUMA node 1", "5: a bit mask: the NUMA nodes 0, 2"];
        assert_eq!(all, expected);
    }

    #[test]
    fn numbers_are_named_by_their_surroundings() {
        let rows = [
            ("Get \"http://192.0.2.71:18051/x\": deadline", "port=18051"),
            ("dial tcp 192.0.2.38:6379: connect: refused", "port=6379"),
            ("scheme/scheme.go:32\"", "source line=scheme.go:32"),
            ("code=exited, status=1/FAILURE", "status=1"),
            ("nvml.Device: error creating nvml.Device 5: lost", "device=5"),
            ("at 03:04:05 it was", ""),
        ];
        for (text, expected) in rows {
            let mut all = Vec::new();
            name_rest(text, &mut |name, value, _| all.push(format!("{name}={value}")));
            assert_eq!(all.join(" "), expected, "{text}");
        }
    }
}
