//! Plugins as people read them.

use super::report::{DevicePlugins, PluginSocket, Process, SocketKind};
use crate::output::table::Table;

/// Returns a line per socket but that of kq itself, and per resource of which no socket is known.
pub fn table(report: &DevicePlugins) -> String {
    let headings = ["SOCKET", "LISTENS", "KUBELET", "RESOURCE", "HEALTHY", "PREFERS", "PRE-START"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    let healthy = |resource: &str| {
        let healthy = report.resources.get(resource).and_then(|state| state.healthy);
        healthy.map_or_else(|| "-".to_owned(), |count| count.to_string())
    };
    for socket in report.sockets.iter().filter(|it| it.kind != SocketKind::StandIn) {
        let options = socket.options.as_ref().ok();
        table.add(vec![
            socket.name.clone(),
            listens(socket),
            connected(socket),
            if socket.kind == SocketKind::Plugin {
                match (&socket.resource, socket.resource_is_guess) {
                    (Ok(resource), true) => format!("{resource}?"),
                    (Ok(resource), false) => resource.clone(),
                    (Err(_), _) => "unknown".to_owned(),
                }
            } else {
                "-".to_owned()
            },
            socket.resource.as_deref().map_or_else(|_| "-".to_owned(), healthy),
            yes_no(options.map(|options| options.get_preferred_allocation_available)),
            yes_no(options.map(|options| options.pre_start_required)),
        ]);
    }
    let (resources, may_be_there) = report.without_socket();
    for resource in resources {
        let dash = || "-".to_owned();
        let socket = if may_be_there { "unknown" } else { "none" };
        table.add(vec![
            socket.to_owned(),
            dash(),
            dash(),
            resource.to_owned(),
            healthy(resource),
            dash(),
            dash(),
        ]);
    }
    table.to_string()
}

/// Returns that, with how each thing is known.
pub fn wide(report: &DevicePlugins) -> String {
    let headings = ["SOCKET", "WHAT", "IS"];
    let mut details = Table::new(headings.map(str::to_owned).to_vec());
    for socket in &report.sockets {
        let mut add = |what: &str, is: String| {
            details.add(vec![socket.name.clone(), what.to_owned(), is]);
        };
        if let Err(reason) = &socket.listening {
            add("listens", reason.clone());
        }
        match &socket.connections {
            Ok(connections) => {
                add("connections", connections.count.to_string());
                if !connections.peers.is_empty() {
                    add("connected by", processes(&connections.peers));
                }
                if !connections.listeners.is_empty() {
                    add("served by", processes(&connections.listeners));
                }
            }
            Err(reason) => add("connections", reason.clone()),
        }
        if socket.kind != SocketKind::Plugin {
            continue;
        }
        if let Err(reason) = &socket.options {
            add("options", reason.clone());
        }
        if let Some(info) = &socket.info {
            let versions = info.versions.join(", ");
            add("says", format!("{} {} {} [{versions}]", info.kind, info.name, info.endpoint));
        }
        match (&socket.resource, &socket.resource_because) {
            (Ok(resource), Some(because)) => add("resource", format!("{resource}: {because}")),
            (Ok(resource), None) => add("resource", resource.clone()),
            (Err(reason), _) => add("resource", format!("unknown: {reason}")),
        }
    }
    let mut resources =
        Table::new(["RESOURCE", "REGISTERED", "HEALTHY", "SOURCE"].map(str::to_owned).to_vec());
    for (name, state) in &report.resources {
        resources.add(vec![
            name.clone(),
            yes_no(Some(state.is_registered)),
            state.healthy.map_or_else(|| "unknown".to_owned(), |count| count.to_string()),
            state.source.clone(),
        ]);
    }
    format!("{}\n{details}\n{resources}", table(report))
}

fn listens(socket: &PluginSocket) -> String {
    match (socket.kind, &socket.listening) {
        (SocketKind::NoSocket, _) => "no socket".to_owned(),
        (_, Ok(true)) if socket.hangs() => "no answer".to_owned(),
        (_, Ok(true)) => "yes".to_owned(),
        (_, Ok(false)) => "no".to_owned(),
        (_, Err(_)) => "unknown".to_owned(),
    }
}

fn connected(socket: &PluginSocket) -> String {
    if socket.kind != SocketKind::Plugin {
        return "-".to_owned();
    }
    match (&socket.connections, socket.is_connected()) {
        (Ok(_), Some(true)) => "connected".to_owned(),
        (Ok(_), Some(false)) => "no".to_owned(),
        (Ok(connections), None) => format!("unknown, {} connected", connections.count),
        (Err(_), _) => "unknown".to_owned(),
    }
}

fn yes_no(value: Option<bool>) -> String {
    match value {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "-".to_owned(),
    }
}

fn processes(processes: &[Process]) -> String {
    let shown = processes.iter().map(|process| format!("{} ({})", process.pid, process.command));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::report::ResourceState;
    use super::*;

    #[test]
    fn what_is_wrong_is_in_the_table() {
        let socket = |name: &str, kind, listening, answers, resource: Option<&str>| PluginSocket {
            name: name.to_owned(),
            kind,
            listening,
            answers,
            resource: resource.map(str::to_owned).ok_or_else(|| "not known".to_owned()),
            ..PluginSocket::default()
        };
        let plugin = SocketKind::Plugin;
        let mut report = DevicePlugins {
            sockets: vec![
                socket("good.sock", plugin, Ok(true), Some(true), Some("a/good")),
                socket("hung.sock", plugin, Ok(true), Some(false), Some("a/hung")),
                socket("dead.sock", plugin, Ok(false), None, Some("a/dead")),
                socket("shut.sock", plugin, Err("permission denied".to_owned()), None, Some("a/b")),
                socket("kq.sock", SocketKind::StandIn, Ok(true), None, None),
            ],
            resources: [(
                "a/gone".to_owned(),
                ResourceState { healthy: Some(0), ..Default::default() },
            )]
            .into(),
            ..DevicePlugins::default()
        };
        let cells = |report: &DevicePlugins| -> Vec<String> {
            let columns = |line: &str| {
                let mut words = line.split("   ").map(str::trim).filter(|word| !word.is_empty());
                let (socket, listens) = (words.next(), words.next());
                let resource = words.nth(1);
                [socket, listens, resource].map(Option::unwrap_or_default).join("|")
            };
            table(report).lines().skip(1).map(columns).collect()
        };
        assert_eq!(
            cells(&report),
            [
                "good.sock|yes|a/good",
                "hung.sock|no answer|a/hung",
                "dead.sock|no|a/dead",
                "shut.sock|unknown|a/b",
                "none|-|a/gone",
            ]
        );
        report.sockets[0].resource = Err("several are left".to_owned());
        assert_eq!(cells(&report)[4], "unknown|-|a/gone", "it may be the first one's");
    }
}
