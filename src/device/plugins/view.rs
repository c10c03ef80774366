//! Plugins as people read them.

use super::report::{DevicePlugins, PluginSocket, Process, SocketKind};
use crate::output::table::Table;

/// Returns a line per socket.
pub fn table(report: &DevicePlugins) -> String {
    let headings = ["SOCKET", "LISTENS", "KUBELET", "RESOURCE", "HEALTHY", "PREFERS", "PRE-START"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for socket in &report.sockets {
        let healthy = socket.resource.as_ref().ok().and_then(|it| report.resources.get(it));
        let healthy = healthy.and_then(|state| state.healthy).map(|count| count.to_string());
        let options = socket.options.as_ref().ok();
        table.add(vec![
            socket.name.clone(),
            listens(socket),
            connected(socket),
            if socket.kind == SocketKind::Plugin {
                socket.resource.clone().unwrap_or_else(|_| "unknown".to_owned())
            } else {
                "-".to_owned()
            },
            healthy.unwrap_or_else(|| "-".to_owned()),
            yes_no(options.map(|options| options.get_preferred_allocation_available)),
            yes_no(options.map(|options| options.pre_start_required)),
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
        (_, Ok(())) => "yes".to_owned(),
        (_, Err(_)) => "no".to_owned(),
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
