//! Whether a resource can be allocated yet.

use super::report::{DevicePlugins, Place, SocketKind};

/// Returns what is missing until pods can get devices of a resource: nothing when it is there.
///
/// Its plugin must be registered, the kubelet connected to it, and one device healthy.
pub fn missing_for(report: &DevicePlugins, resource: &str) -> Vec<String> {
    let mut missing = Vec::new();
    match report.resources.get(resource) {
        None => missing.push(format!("no plugin has registered {resource}")),
        Some(state) if !state.is_registered => {
            missing.push(format!("the plugin of {resource} is gone"));
        }
        Some(state) => match state.healthy {
            Some(0) => missing.push(format!("no device of {resource} is healthy")),
            Some(_) => {}
            None => {
                missing.push(format!("nobody tells how many devices of {resource} are healthy"))
            }
        },
    }
    let plugins = report.sockets.iter().filter(|socket| {
        let is_plugin = socket.kind == SocketKind::Plugin;
        let may_be = socket.place == Place::DevicePlugins || socket.info.is_some();
        is_plugin && may_be
    });
    let own: Vec<_> =
        plugins.clone().filter(|socket| socket.resource.as_deref() == Ok(resource)).collect();
    // Where nobody knows which socket it is, any that it could be counts.
    let candidates: Vec<_> = match own.is_empty() {
        true => plugins.filter(|socket| socket.resource.is_err()).collect(),
        false => own,
    };
    if candidates.is_empty() {
        missing.push(format!("there is no socket of a plugin that could offer {resource}"));
    } else if !candidates.iter().any(|socket| socket.listening != Ok(false)) {
        let names: Vec<&str> = candidates.iter().map(|socket| socket.name.as_str()).collect();
        missing.push(format!("nobody listens on {}", names.join(", ")));
    } else if !candidates.iter().any(|socket| socket.is_connected() != Some(false)) {
        let names: Vec<&str> = candidates.iter().map(|socket| socket.name.as_str()).collect();
        missing.push(format!("the kubelet is not connected to {}", names.join(", ")));
    } else if candidates.iter().all(|socket| socket.hangs()) {
        let names: Vec<&str> = candidates.iter().map(|socket| socket.name.as_str()).collect();
        missing.push(format!("{} listens and does not answer", names.join(", ")));
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
            Some(ResourceState { is_registered, healthy, source: String::new() })
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
            ("untold", state(true, None), Some(good()), &["nobody tells how many"]),
            ("no socket", state(true, Some(1)), None, &["there is no socket"]),
            ("dead", state(true, Some(1)), Some(socket(false, 0, Ok("a/x"))), &["nobody listens"]),
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
            let is_said = missing.iter().zip(expected).all(|(a, b)| a.starts_with(b));
            assert!(is_said, "{name}: {missing:?}");
        }
    }
}
