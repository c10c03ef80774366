//! The tables of the plugins.

use super::report::{DevicePlugins, PluginSocket, ResourceState, SocketKind};
use kq_facts::unix_sockets::Process;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, or_dash};

/// A socket, or a resource of which none is known.
struct Row<'r> {
    report: &'r DevicePlugins,
    socket: Result<&'r PluginSocket, &'static str>,
    resource: Option<&'r str>,
}

impl Row<'_> {
    /// Returns a cell that only sockets have.
    fn of_socket(&self, text: fn(&PluginSocket) -> String) -> String {
        or_dash(self.socket.ok().map(text))
    }

    fn healthy(&self) -> Option<usize> {
        self.report.resources.get(self.resource?)?.healthy
    }
}

/// Returns a line per socket but that of kq itself, and per resource of which no socket is known.
pub fn table(report: &DevicePlugins) -> Table {
    let sockets = report.sockets.iter().filter(|it| it.kind != SocketKind::RegistrationServer);
    let sockets =
        sockets.map(|it| Row { report, socket: Ok(it), resource: it.resource.as_deref().ok() });
    let (resources, may_be_there) = report.without_socket();
    let absent = if may_be_there { "unknown" } else { "none" };
    let resources = resources.into_iter();
    let resources = resources.map(|it| Row { report, socket: Err(absent), resource: Some(it) });
    let rows: Vec<Row<'_>> = sockets.chain(resources).collect();
    Rows::of(&rows).table(&[
        Column::new("SOCKET", |row: &Row<'_>| match row.socket {
            Ok(socket) => socket.name.clone(),
            Err(absent) => absent.to_owned(),
        }),
        Column::new("LISTENS", |row| row.of_socket(listens)),
        Column::new("KUBELET", |row| row.of_socket(connected)),
        Column::new("RESOURCE", |row| match row.socket {
            Ok(socket) => offered(socket),
            Err(_) => or_dash(row.resource),
        }),
        Column::new("HEALTHY", |row| or_dash(row.healthy())),
        Column::new("PREFERS", |row| {
            row.of_socket(|it| {
                let options = it.options.as_ref().ok();
                yes_no(options.map(|options| options.get_preferred_allocation_available))
            })
        }),
        Column::new("PRE-START", |row| {
            row.of_socket(|it| {
                yes_no(it.options.as_ref().ok().map(|options| options.pre_start_required))
            })
        }),
    ])
}

fn offered(socket: &PluginSocket) -> String {
    match (&socket.resource, socket.resource_is_guess) {
        _ if socket.kind != SocketKind::Plugin => "-".to_owned(),
        (Ok(resource), true) => format!("{resource}?"),
        (Ok(resource), false) => resource.clone(),
        (Err(_), _) => "unknown".to_owned(),
    }
}

/// Returns that, with how each thing is known.
pub fn wide(report: &DevicePlugins) -> Doc {
    let mut details: Vec<(&PluginSocket, &'static str, String)> = Vec::new();
    for socket in &report.sockets {
        let mut add = |what, is| details.push((socket, what, is));
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
    let details = Rows::of(&details).table(&[
        Column::new("SOCKET", |(socket, ..)| socket.name.clone()),
        Column::text("WHAT", |(_, what, _)| (*what).to_owned()),
        Column::text("IS", |(_, _, is)| is.clone()),
    ]);
    let resources: Vec<(&String, &ResourceState)> = report.resources.iter().collect();
    let resources = Rows::of(&resources).table(&[
        Column::new("RESOURCE", |(name, _)| (*name).clone()),
        Column::new("REGISTERED", |(_, state)| yes_no(Some(state.is_registered))),
        Column::new("HEALTHY", |(_, state)| {
            state.healthy.map_or_else(|| "unknown".to_owned(), |count| count.to_string())
        }),
        Column::text("SOURCE", |(_, state)| state.source.clone()),
    ]);
    let mut doc = Doc::from(table(report));
    doc.add_apart(details);
    doc.add_apart(resources);
    doc
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
                socket("kq.sock", SocketKind::RegistrationServer, Ok(true), None, None),
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
            table(report).to_string().lines().skip(1).map(columns).collect()
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
