//! A kubeconfig says where a secret is sent, and so it names only files of its own owner.

use super::{EVE, is_root, never_asked};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{AMPLE, Server, Wire, json};
use kq_api::api_server::{KubeconfigChoice, KubeconfigPlace, connect};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// A kubeconfig in a folder with other files, and the server that it names.
struct Setting {
    folder: tempfile::TempDir,
    authority: Authority,
    server: Server,
}

impl Setting {
    fn new() -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Self { folder, authority, server: Server::saying(wire, json(list)) }
    }

    fn write(&self, name: &str, content: &str, owner: u32, mode: u32) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).expect("a file can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        chown(&path, Some(owner), None).expect("root may");
        path
    }

    fn kubeconfig(&self, owner: u32, mode: u32, user: &str) -> PathBuf {
        let authority = base64(&self.authority.pem());
        let text = format!(
            "{{kind: Config, apiVersion: v1, current-context: a,\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}],\n\
             clusters: [{{name: a, cluster: {{server: \"{}\", certificate-authority-data: {authority}}}}}],\n\
             users: [{{name: a, user: {user}}}]}}\n",
            self.server.url("https")
        );
        self.write("kubeconfig", &text, owner, mode)
    }

    fn ask(&self, place: KubeconfigPlace<'_>) -> Result<(), String> {
        let pods = connect(place, &KubeconfigChoice::default(), AMPLE)
            .and_then(|api| api.pods_of_node("worker-1", AMPLE));
        pods.map(drop).map_err(|error| error.to_string())
    }
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn another_users_kubeconfig_does_not_send_roots_files_away() {
    if !is_root() {
        eprintln!("left out, because it needs root");
        return;
    }
    let setting = Setting::new();
    setting.write("secret", "s3cr3t", 0, 0o600);
    let folder = setting.folder.path();
    symlink("secret", folder.join("link")).expect("a link can be made");
    std::os::unix::fs::lchown(folder.join("link"), Some(EVE), None).expect("root may");
    fs::hard_link(folder.join("secret"), folder.join("hard")).expect("a link can be made");
    setting.write("own", "eves-token", EVE, 0o600);
    let refused = "belongs to user 0, and the kubeconfig that names it to user 65534";
    for user in [
        "{tokenFile: secret}",
        "{tokenFile: link}",
        "{tokenFile: hard}",
        "{client-certificate: secret, client-key: own}",
        "{client-certificate: own, client-key: secret}",
    ] {
        let path = setting.kubeconfig(EVE, 0o600, user);
        let reason = setting.ask(KubeconfigPlace::Named(&path)).expect_err(user);
        // Which of the two files is read first does not matter.
        assert!(reason.contains(refused) || reason.contains("is not PEM"), "{user}: {reason}");
    }
    // Root's own one, which is world-writable.
    let path = setting.kubeconfig(0, 0o666, "{tokenFile: secret}");
    let reason = setting.ask(KubeconfigPlace::Named(&path)).expect_err("anybody wrote it");
    assert!(reason.contains("others can write the kubeconfig that names it"), "{reason}");
    never_asked(&setting.server);
    for (owner, user, token) in
        [(EVE, "{tokenFile: own}", "eves-token"), (0, "{tokenFile: secret}", "s3cr3t")]
    {
        let path = setting.kubeconfig(owner, 0o600, user);
        setting.ask(KubeconfigPlace::Named(&path)).expect("the owner's own file is sent");
        let seen = setting.server.seen().pop().expect("it was asked");
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {token}").as_str()));
    }
}

#[test]
fn only_a_token_is_sent() {
    let setting = Setting::new();
    let own = rustix::process::geteuid().as_raw();
    for content in ["root:$6$abc:1:0:::::\n", "first\nsecond\n", "-----BEGIN A-----\n", "a b"] {
        setting.write("file", content, own, 0o600);
        let path = setting.kubeconfig(own, 0o600, "{tokenFile: file}");
        let reason = setting.ask(KubeconfigPlace::Named(&path)).expect_err(content);
        assert!(reason.contains("holds something that no token can hold"), "{reason}");
    }
    never_asked(&setting.server);
}

#[test]
fn a_kubeconfig_of_the_node_must_be_trusted() {
    if !is_root() {
        eprintln!("left out, because it needs root");
        return;
    }
    let setting = Setting::new();
    setting.kubeconfig(EVE, 0o600, "{token: abc}");
    let of_node = |root: &Path| {
        let root = root.to_owned();
        setting.ask(KubeconfigPlace::OfNode { root: &root, path: "/kubeconfig" })
    };
    let reason = of_node(setting.folder.path()).expect_err("it is another user's");
    assert!(reason.contains("not trusted: /kubeconfig belongs to user 65534"), "{reason}");
    never_asked(&setting.server);
    setting.kubeconfig(0, 0o600, "{token: abc}");
    of_node(setting.folder.path()).expect("root's is believed");
}
