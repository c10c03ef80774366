//! Plugin sockets of a copied node, and endpoints that a plugin names.

use super::{Node, in_own_namespaces, is_untouched};
use crate::cli::devices_serve::{RESOURCE, able, four, json};
use crate::cli::kq;
use crate::edges::device_plugin::background::Background;
use crate::edges::device_plugin::sample_plugin::Plugin;
use crate::services::pluginregistration::registration_server::{Registration, RegistrationServer};
use kq_linux::device_plugin::pluginregistration::{InfoRequest, PluginInfo};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use tonic::{Request, Response, Status, async_trait};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, \
                   resources: {limits: {example.com/gpu: 1}}}]}\n";
const DEVICES: &str = "- {resource: example.com/gpu, id: a}\n";

/// What a copy has where a node has its processes.
#[derive(Clone, Copy, Debug)]
enum Proc {
    Nothing,
    Pipe,
    LinkToTheHosts,
}

#[test]
fn a_copy_of_a_node_leads_to_no_socket_of_the_host() {
    for proc in [Proc::Nothing, Proc::Pipe, Proc::LinkToTheHosts] {
        let folder = tempfile::tempdir().expect("a folder");
        let (copy, host) = (folder.path().join("copy"), folder.path().join("host"));
        for path in [copy.join("var/lib/kubelet"), host.clone()] {
            fs::create_dir_all(path).expect("folders");
        }
        let listener = UnixListener::bind(host.join("gpu.sock")).expect("bound");
        symlink(&host, copy.join("var/lib/kubelet/device-plugins")).expect("a link");
        symlink(&host, copy.join("var/lib/kubelet/plugins_registry")).expect("a link");
        match proc {
            Proc::Nothing => {}
            Proc::Pipe => {
                let net = copy.join("proc/1/net");
                fs::create_dir_all(&net).expect("folders");
                mkfifoat(CWD, net.join("unix"), Mode::RUSR | Mode::WUSR).expect("a pipe");
            }
            Proc::LinkToTheHosts => symlink("/proc", copy.join("proc")).expect("a link"),
        }
        fs::write(folder.path().join("pod.yaml"), POD).expect("written");
        fs::write(folder.path().join("devices.yaml"), DEVICES).expect("written");
        let reason = "copy is a copy of a node's files, which has no sockets";
        for line in [
            "devices plugins --call-timeout 300ms",
            "devices plugins --no-ask",
            "devices plugins --wait example.com/gpu --timeout 300ms",
            "devices plan pod.yaml --devices devices.yaml --timeout 300ms --ask-plugin",
        ] {
            let ran = kq(&format!("{line} --host-root copy")).within(folder.path()).run();
            assert_eq!(ran.code, 3, "{proc:?}: {line}: {}", ran.text());
            assert!(ran.stderr.contains(reason), "{proc:?}: {line}: {}", ran.text());
            assert!(is_untouched(&listener), "{proc:?}: {line}: {}", ran.text());
        }
    }
}

/// Answers as a plugin of the registry does.
struct Described(PluginInfo);

#[async_trait]
impl Registration for Described {
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        Ok(Response::new(self.0.clone()))
    }
}

fn describe(socket: &Path, kind: &str, name: &str, endpoint: &Path) -> Background {
    let info = PluginInfo {
        r#type: kind.to_owned(),
        name: name.to_owned(),
        endpoint: endpoint.display().to_string(),
        supported_versions: vec!["v1beta1".to_owned()],
    };
    Background::serve(socket, RegistrationServer::new(Described(info)))
}

#[test]
fn a_plugin_of_the_registry_serves_in_a_plugin_folder() {
    in_own_namespaces("trust::devices::a_plugin_of_the_registry_serves_in_a_plugin_folder", || {
        let node = Node::new();
        let registry = node.path("var/lib/kubelet/plugins_registry");
        let plugins = node.path("var/lib/kubelet/device-plugins");
        for folder in [&registry, &plugins] {
            fs::create_dir_all(folder).expect("a folder can be made");
        }
        let kubelets = Path::new("/var/lib/kubelet/device-plugins");
        let other = UnixListener::bind(node.path("run/other.sock")).expect("bound");
        symlink("/run/other.sock", plugins.join("link.sock")).expect("a link");
        symlink("/run", plugins.join("folder")).expect("a link");
        let outside = node.root().join("../outside.sock");
        let outside = UnixListener::bind(outside).expect("bound");
        let device = |name: &str, endpoint: &Path| {
            describe(&registry.join(name), "DevicePlugin", RESOURCE, endpoint)
        };
        let _described = [
            device("gpu-reg.sock", &kubelets.join("gpu.sock")),
            describe(
                &registry.join("csi-reg.sock"),
                "CSIPlugin",
                "csi",
                Path::new("/csi/csi.sock"),
            ),
            device("other-reg.sock", Path::new("/run/other.sock")),
            device("above-reg.sock", &kubelets.join("../../../../run/other.sock")),
            device("link-reg.sock", &kubelets.join("link.sock")),
            device("folder-reg.sock", &kubelets.join("folder/other.sock")),
            device("outside-reg.sock", Path::new("../outside.sock")),
        ];
        let plugin = Plugin::start(&plugins, "gpu.sock", four(), able());
        let root = node.root();
        let ran = kq(&format!("devices plugins --host-root {} -o json", root.display())).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        let report = json(&ran);
        let socket = |name: &str| {
            let sockets = report["sockets"].as_array().expect("a list");
            sockets.iter().find(|it| it["name"] == name).cloned().expect(name)
        };
        let own = socket("gpu-reg.sock");
        assert_eq!((&own["place"], &own["answers"]), (&"pluginsRegistry".into(), &true.into()));
        assert_eq!(own["info"]["endpoint"], "/var/lib/kubelet/device-plugins/gpu.sock");
        assert_eq!(own["resource"]["known"], RESOURCE, "{}", ran.stdout);
        assert_eq!(own["options"]["known"]["preStartRequired"], true, "asked where it serves");
        let driver = socket("csi-reg.sock");
        assert_eq!(driver["info"]["kind"], "CSIPlugin");
        assert_eq!(driver["resource"]["unknown"], "it is a CSIPlugin, not a device plugin");
        for (name, expected) in [
            ("other-reg.sock", "which is not in a plugin folder of the kubelet"),
            ("above-reg.sock", "which is not in a plugin folder of the kubelet"),
            ("outside-reg.sock", "which is not in a plugin folder of the kubelet"),
            ("link-reg.sock", "a symbolic link, expected a socket"),
            ("folder-reg.sock", "a symbolic link, expected a folder"),
        ] {
            let why = socket(name)["options"]["unknown"].as_str().unwrap_or_default().to_owned();
            assert!(why.contains(expected), "{name}: {why:?}");
        }
        assert!(is_untouched(&other) && is_untouched(&outside), "{}", ran.text());
        let calls = plugin.calls.lock().expect("no test panics with it").clone();
        assert_eq!(calls, [""; 0]);
    });
}

#[test]
fn no_link_leads_from_a_plugin_folder_out_of_the_node() {
    in_own_namespaces("trust::devices::no_link_leads_from_a_plugin_folder_out_of_the_node", || {
        let node = Node::new();
        let host = node.root().join("../host-folder");
        fs::create_dir(&host).expect("a folder");
        let listener = UnixListener::bind(host.join("gpu.sock")).expect("bound");
        let kubelet = node.path("var/lib/kubelet");
        symlink(&host, kubelet.join("device-plugins")).expect("a link");
        symlink(&host, kubelet.join("plugins_registry")).expect("a link");
        let line = format!("devices plugins --host-root {}", node.root().display());
        let ran = kq(&line).run();
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(ran.stderr.contains("device-plugins: no such file"), "{}", ran.text());
        fs::remove_file(kubelet.join("device-plugins")).expect("removed");
        fs::create_dir(kubelet.join("device-plugins")).expect("a folder");
        let ran = kq(&line).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(is_untouched(&listener), "{}", ran.text());
    });
}
