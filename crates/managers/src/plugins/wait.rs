//! The conditions under which a resource can be allocated.

use super::report::{DevicePlugins, PluginSocket, SocketKind};

/// What keeps pods from getting devices of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub text: String,
    /// It is unknown, so it may be there.
    pub is_unknown: bool,
}

/// Returns the unmet conditions for allocating a resource. Unknown
/// counts as missing.
///
/// The kubelet must count a healthy device now, which it does only while it is connected to the plugin. A
/// checkpoint is no proof, since it may be old. A socket that is known to be the plugin's must not contradict it.
pub fn missing_for(report: &DevicePlugins, resource: &str) -> Vec<Missing> {
    let no = |text: String| vec![Missing { text, is_unknown: false }];
    let unknown = |text: String| Missing { text, is_unknown: true };
    let Some(state) = report.resources.get(resource) else {
        return no(format!("no plugin has registered {resource}"));
    };
    if !state.is_registered {
        return no(format!("the plugin of {resource} is gone"));
    }
    let mut missing = Vec::new();
    match (state.healthy, state.is_live) {
        (Some(0), _) => missing.extend(no(format!("no device of {resource} is healthy"))),
        (Some(_), true) => {}
        (Some(count), false) => missing.push(unknown(format!(
            "whether the {count} devices of {resource} in {} are healthy now is not known: the file is as \
             it was written last",
            state.source
        ))),
        (None, _) => missing.push(unknown(format!(
            "the number of healthy devices of {resource} is unknown"
        ))),
    }
    // If the socket is unknown, no socket contradicts it.
    let own: Vec<&PluginSocket> = report
        .sockets
        .iter()
        .filter(|it| it.kind == SocketKind::Plugin && it.resource.as_deref() == Ok(resource))
        .filter(|it| !it.resource_is_guess)
        .collect();
    let names: Vec<&str> = own.iter().map(|socket| socket.name.as_str()).collect();
    let names = names.join(", ");
    if own.is_empty() {
        let may_be = |it: &PluginSocket| {
            it.kind == SocketKind::Plugin && (it.resource.is_err() || it.resource_is_guess)
        };
        if !report.sockets.iter().any(may_be) {
            let text = format!("there is no socket of a plugin that could offer {resource}");
            missing.extend(no(text));
        } else if !state.is_live {
            missing.push(unknown(format!("the socket of {resource} is unknown")));
        }
    } else if own.iter().all(|socket| socket.listening == Ok(false)) {
        missing.extend(no(format!("no process listens on {names}")));
    } else if own.iter().all(|socket| socket.is_connected() == Some(false)) {
        missing.extend(no(format!("the kubelet is not connected to {names}")));
    } else if own.iter().all(|socket| socket.hangs()) {
        missing.extend(no(format!("{names} listens and does not answer")));
    } else if !state.is_live && own.iter().all(|socket| socket.is_connected() != Some(true)) {
        missing.push(unknown(format!("whether the kubelet is connected to {names} is not known")));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::super::report::{Connections, PluginSocket, ResourceState};
    use super::*;

    #[test]
    fn a_resource_is_there_when_it_is_registered_connected_and_healthy() {
        let socket = |listens: bool, count: usize, resource: Result<&str, &str>| PluginSocket {
            name: "x.sock".to_owned(),
            listening: Ok(listens),
            connections: Ok(Connections { count, ..Connections::default() }),
            options: Err(String::new()),
            resource: resource.map(str::to_owned).map_err(str::to_owned),
            ..PluginSocket::default()
        };
        let state = |is_registered, healthy| {
            Some(ResourceState { is_registered, healthy, is_live: true, source: String::new() })
        };
        let good = || socket(true, 1, Ok("a/x"));
        type Row<'a> = (&'a str, Option<ResourceState>, Option<PluginSocket>, &'a [&'a str]);
        let hung = PluginSocket { answers: Some(false), ..good() };
        let rows: [Row<'_>; 10] = [
            ("there", state(true, Some(1)), Some(good()), &[]),
            ("perhaps its socket", state(true, Some(1)), Some(socket(true, 1, Err("?"))), &[]),
            ("hung", state(true, Some(1)), Some(hung), &["x.sock listens and does not answer"]),
            ("unknown", None, Some(good()), &["no plugin has registered"]),
            ("gone", state(false, Some(1)), Some(good()), &["the plugin of a/x is gone"]),
            ("unhealthy", state(true, Some(0)), Some(good()), &["no device of a/x is healthy"]),
            ("no count", state(true, None), Some(good()), &["the number of healthy devices of"]),
            ("no socket", state(true, Some(1)), None, &["there is no socket"]),
            (
                "dead",
                state(true, Some(1)),
                Some(socket(false, 0, Ok("a/x"))),
                &["no process listens"],
            ),
            (
                "not connected",
                state(true, Some(1)),
                Some(socket(true, 0, Ok("a/x"))),
                &["the kubelet is not connected to x.sock"],
            ),
        ];
        for (name, state, socket, expected) in rows {
            let report = DevicePlugins {
                sockets: socket.into_iter().collect(),
                resources: state.map(|state| ("a/x".to_owned(), state)).into_iter().collect(),
                ..DevicePlugins::default()
            };
            let missing = missing_for(&report, "a/x");
            assert_eq!(missing.len(), expected.len(), "{name}: {missing:?}");
            let is_said = missing.iter().zip(expected).all(|(a, b)| a.text.starts_with(b));
            assert!(is_said, "{name}: {missing:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_there_yet() {
        let socket = |kubelet: Option<bool>, resource: Result<&str, &str>, is_guess: bool| {
            let connections = Connections { count: 1, kubelet, ..Connections::default() };
            PluginSocket {
                name: "x.sock".to_owned(),
                listening: Ok(true),
                connections: Ok(connections),
                resource: resource.map(str::to_owned).map_err(str::to_owned),
                resource_is_guess: is_guess,
                ..PluginSocket::default()
            }
        };
        let known = || socket(Some(true), Ok("a/x"), false);
        type Row<'a> = (&'a str, bool, Option<usize>, PluginSocket, &'a [&'a str]);
        let rows: [Row<'_>; 7] = [
            ("the kubelet counts it", true, Some(1), known(), &[]),
            (
                "it does, and its connections are unknown",
                true,
                Some(1),
                socket(None, Ok("a/x"), false),
                &[],
            ),
            (
                "it does, and the socket is not known",
                true,
                Some(1),
                socket(None, Err("?"), false),
                &[],
            ),
            ("a file", false, Some(4), known(), &["whether the 4 devices"]),
            (
                "a file, and a guess",
                false,
                Some(4),
                socket(Some(true), Ok("a/x"), true),
                &["whether the 4", "the socket of"],
            ),
            (
                "a file, and a stranger",
                false,
                Some(4),
                socket(None, Ok("a/x"), false),
                &["whether the 4", "whether the kubelet"],
            ),
            ("no count", false, None, known(), &["the number of healthy"]),
        ];
        for (name, is_live, healthy, socket, expected) in rows {
            let state =
                ResourceState { is_registered: true, healthy, is_live, source: "f".to_owned() };
            let report = DevicePlugins {
                sockets: vec![socket],
                resources: [("a/x".to_owned(), state)].into(),
                ..DevicePlugins::default()
            };
            let missing = missing_for(&report, "a/x");
            assert_eq!(missing.len(), expected.len(), "{name}: {missing:?}");
            let mut pairs = missing.iter().zip(expected);
            assert!(
                pairs.all(|(a, b)| a.text.starts_with(b) && a.is_unknown),
                "{name}: {missing:?}"
            );
        }
    }
}
