//! The resource of each socket. The device plugin API does not report it: a plugin sends it only to the kubelet, when
//! it registers.

use super::report::{DevicePlugins, PluginSocket, SocketKind};

/// Assigns the resources to the sockets as well as it can be known. `endpoints` are what a fake kubelet says: a
/// resource and the name of its socket.
pub fn assign_resources(report: &mut DevicePlugins, endpoints: &[(String, String)]) {
    for socket in report.sockets.iter_mut().filter(|it| it.kind == SocketKind::Plugin) {
        let told = endpoints.iter().find(|(_, endpoint)| *endpoint == socket.name);
        if let Some((resource, _)) = told {
            know(socket, resource, "from the fake kubelet");
        } else if let Some(info) = socket.info.clone() {
            match info.kind.as_str() {
                "DevicePlugin" => know(socket, &info.name, "from the plugin (GetInfo)"),
                other => socket.resource = Err(format!("it is a {other}, not a device plugin")),
            }
        }
    }
    let known: Vec<String> =
        report.sockets.iter().filter_map(|socket| socket.resource.clone().ok()).collect();
    let mut left = report.resources.keys().filter(|name| !known.contains(name));
    let (first, second) = (left.next().cloned(), left.next());
    let is_open = |socket: &&mut PluginSocket| {
        socket.kind == SocketKind::Plugin
            && socket.resource.is_err()
            && socket.info.is_none()
            && socket.listens()
    };
    let live = report.resources.iter().filter(|(_, state)| state.is_live);
    let live: Vec<String> = live.map(|(name, _)| name.clone()).collect();
    let is_live = |name: &String| live.contains(name);
    let mut open: Vec<&mut PluginSocket> = report.sockets.iter_mut().filter(is_open).collect();
    match (open.as_mut_slice(), first, second) {
        ([only], Some(resource), None) => {
            know(only, &resource, "the only socket that listens, and the only resource left");
            only.resource_is_guess = !is_live(&resource);
        }
        (open, first, _) => {
            for socket in open {
                socket.resource = Err(match &first {
                    None => "the checkpoint names no resource that is left".to_owned(),
                    Some(_) => {
                        "the plugin API does not report it, and several sockets or resources remain"
                            .to_owned()
                    }
                });
            }
        }
    }
}

fn know(socket: &mut PluginSocket, resource: &str, because: &str) {
    socket.resource = Ok(resource.to_owned());
    socket.resource_because = Some(because.to_owned());
}

#[cfg(test)]
mod tests {
    use super::super::report::{PluginInfo, ResourceState};
    use super::*;

    fn socket(name: &str, listens: bool) -> PluginSocket {
        PluginSocket {
            name: name.to_owned(),
            listening: Ok(listens),
            connections: Err("not read".to_owned()),
            options: Err("not asked".to_owned()),
            resource: Err("not known".to_owned()),
            ..PluginSocket::default()
        }
    }

    fn report(sockets: Vec<PluginSocket>, resources: &[&str]) -> DevicePlugins {
        let resources =
            resources.iter().map(|name| ((*name).to_owned(), ResourceState::default())).collect();
        DevicePlugins { sockets, resources, ..DevicePlugins::default() }
    }

    #[test]
    fn resources_are_assigned_where_there_is_no_doubt() {
        let told = [("a/x".to_owned(), "x.sock".to_owned())];
        let info = PluginInfo {
            kind: "DevicePlugin".to_owned(),
            name: "a/y".to_owned(),
            ..PluginInfo::default()
        };
        let named = PluginSocket { info: Some(info), ..socket("y.sock", true) };
        let csi = PluginInfo { kind: "CSIPlugin".to_owned(), ..PluginInfo::default() };
        let csi = PluginSocket { info: Some(csi), ..socket("csi.sock", true) };
        let rows = [
            ("told", vec![socket("x.sock", true)], vec!["a/x"], vec![Some("a/x")]),
            ("named", vec![named.clone()], vec!["a/y"], vec![Some("a/y")]),
            ("the only one", vec![socket("z.sock", true)], vec!["a/z"], vec![Some("a/z")]),
            (
                "the only one left",
                vec![socket("x.sock", true), socket("z.sock", true), named],
                vec!["a/x", "a/y", "a/z"],
                vec![Some("a/x"), Some("a/z"), Some("a/y")],
            ),
            ("a dead one", vec![socket("z.sock", false)], vec!["a/z"], vec![None]),
            ("no resource", vec![socket("z.sock", true)], vec![], vec![None]),
            ("two resources", vec![socket("z.sock", true)], vec!["a/1", "a/2"], vec![None]),
            (
                "two sockets",
                vec![socket("1.sock", true), socket("2.sock", true)],
                vec!["a/1"],
                vec![None, None],
            ),
            ("another kind", vec![csi], vec!["a/1"], vec![None]),
        ];
        for (name, sockets, resources, expected) in rows {
            let mut report = report(sockets, &resources);
            assign_resources(&mut report, &told);
            let assigned: Vec<Option<&str>> =
                report.sockets.iter().map(|it| it.resource.as_deref().ok()).collect();
            assert_eq!(assigned, expected, "{name}");
        }
    }
}
