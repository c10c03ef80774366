//! Whose kubeconfig names a plugin that is run, and whose plugin.

use super::super::Node;
use super::*;
use std::os::unix::fs::symlink;

/// A name, what is done to the files, and the reason for which the plugin is not run.
type Row<'a> = (&'static str, &'a dyn Fn(), Option<&'static str>);

#[test]
fn root_runs_nothing_that_others_may_write() {
    let test = "trust::credential_plugin::owners::root_runs_nothing_that_others_may_write";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let config = setting.config(exec(&plugin)).to_string();
        let (kube, path) = (setting.folder.clone(), setting.folder.join("config"));
        let put = |owner, mode| write(&path, &config, owner, mode);
        let change = |path: &Path, owner, mode| {
            chown(path, Some(owner), None).expect("root may");
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        };
        let rows: [Row<'_>; 9] = [
            ("root's", &|| {}, None),
            (
                "another user's kubeconfig",
                &|| put(EVE, 0o600),
                Some("config belongs to user 65534, expected root"),
            ),
            (
                "one that everybody may write",
                &|| put(0, 0o602),
                Some("config is writable by every user"),
            ),
            (
                "one that a group may write",
                &|| put(0, 0o620),
                Some("config is writable by group 0"),
            ),
            (
                "in another user's folder",
                &|| change(&kube, EVE, 0o755),
                Some("folder /mnt/kube belongs to user 65534"),
            ),
            (
                "in a shared folder",
                &|| change(&kube, 0, 0o1777),
                Some("folder /mnt/kube is writable by every user"),
            ),
            (
                "another user's plugin",
                &|| change(&plugin, EVE, 0o755),
                Some("plugin belongs to user 65534, expected root"),
            ),
            (
                "a plugin that everybody may write",
                &|| change(&plugin, 0, 0o777),
                Some("plugin is writable by every user"),
            ),
            ("a set-user-ID plugin", &|| change(&plugin, 0, 0o4755), Some("is set-user-ID")),
        ];
        for (name, prepare, refused) in rows {
            put(0, 0o600);
            change(&kube, 0, 0o755);
            change(&plugin, 0, 0o755);
            setting.forget_runs();
            prepare();
            let ran = setting.ask(&path);
            assert_eq!(setting.runs(), usize::from(refused.is_none()), "{name}: {}", ran.text());
            let Some(reason) = refused else {
                assert_eq!(ran.code, 0, "{name}: {}", ran.text());
                continue;
            };
            assert_eq!(ran.code, 3, "{name}: {}", ran.text());
            assert!(
                ran.stderr.contains(" is not run: ") && ran.stderr.contains(reason),
                "{name}: {}",
                ran.text()
            );
            says(&ran.stderr, "run kq as the user whose kubeconfig it is");
            let sudo = setting.asking(&format!("--kubeconfig {}", path.display()));
            let sudo = sudo.env("SUDO_USER", "eve").run();
            says(&sudo.stderr, "run kq without sudo");
        }
        change(&plugin, 0, 0o755);
        change(&kube, 0, 0o755);
        put(0, 0o600);
        setting.forget_runs();
        // The plugin of one file, and the context of another.
        let eves = Path::new("/mnt/eves");
        write(eves, "{apiVersion: v1, kind: Config}", EVE, 0o644);
        let both = format!("{}:{}", path.display(), eves.display());
        let ran = setting.asking("").env("KUBECONFIG", both).run();
        assert_eq!((ran.code, setting.runs()), (3, 0), "{}", ran.text());
        says(&ran.stderr, "eves belongs to user 65534");
        let ran = setting.asking("").env("KUBECONFIG", path.display().to_string()).run();
        assert_eq!((ran.code, setting.runs()), (0, 1), "{}", ran.text());
    });
}

#[test]
fn root_finds_plugins_in_its_own_folders_only() {
    let test = "trust::credential_plugin::owners::root_finds_plugins_in_its_own_folders_only";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let (own, eves) = (Path::new("/mnt/own"), Path::new("/mnt/eves"));
        for (folder, owner) in [(own, 0), (eves, EVE)] {
            fs::create_dir(folder).expect("a folder");
            let plugin = setting.token_plugin("aws");
            fs::rename(plugin, folder.join("aws")).expect("moved");
            chown(folder, Some(owner), None).expect("root may");
        }
        symlink("/mnt/eves/aws", "/mnt/own/linked").expect("a link");
        let kubeconfig = setting.kubeconfig(exec("aws"));
        let line = format!("--kubeconfig {}", kubeconfig.display());
        for (path, runs, said) in [
            ("/mnt/own:/mnt/eves", 1, ""),
            ("/mnt/eves:/mnt/own", 0, "folder /mnt/eves belongs to user 65534"),
            ("own:/mnt/eves", 0, "found by a relative folder of PATH"),
        ] {
            setting.forget_runs();
            let run = kq(&format!("preempt explain /mnt/new.yaml --all-nodes {line}"));
            fs::copy(repository().join("examples/night/dns.yaml"), "/mnt/new.yaml")
                .expect("a copy");
            let ran = run.within("/mnt").env("PATH", format!("{path}:/usr/bin:/bin")).run();
            assert_eq!(setting.runs(), runs, "{path}: {}", ran.text());
            assert!(ran.stderr.contains(said), "{path}: {}", ran.text());
        }
        let ran = setting.ask(&setting.kubeconfig(exec("/mnt/own/linked")));
        assert_eq!(ran.code, 3, "{}", ran.text());
        says(&ran.stderr, "folder /mnt/eves belongs to user 65534");
    });
}

#[test]
fn another_user_runs_plugins_of_their_own_kubeconfig() {
    let test =
        "trust::credential_plugin::owners::another_user_runs_plugins_of_their_own_kubeconfig";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let config = setting.config(exec(&plugin)).to_string();
        let path = setting.folder.join("config");
        let program = Path::new("/mnt/program");
        fs::copy(env!("CARGO_BIN_EXE_kq"), program).expect("a copy");
        fs::copy(repository().join("examples/night/dns.yaml"), "/mnt/new.yaml").expect("a copy");
        for (name, owner, mode, refused) in [
            ("their own", EVE, 0o600, None),
            ("their own, which their group may write", EVE, 0o660, None),
            ("root's", 0, 0o644, None),
            ("another user's", 1, 0o644, Some("it belongs to user 1, expected root or user 65534")),
            ("one that others may write", EVE, 0o666, Some("others can write it")),
        ] {
            write(&path, &config, owner, mode);
            chown(&path, None, Some(EVE)).expect("root may");
            write(Path::new("/mnt/runs"), "", EVE, 0o600);
            let output = Command::new("setpriv")
                .args([format!("--reuid={EVE}"), format!("--regid={EVE}"), "--clear-groups".into()])
                .arg(program)
                .args(["preempt", "explain", "/mnt/new.yaml", "--all-nodes", "--kubeconfig"])
                .arg(&path)
                .current_dir("/")
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .output()
                .expect("setpriv runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(setting.runs(), usize::from(refused.is_none()), "{name}: {said}");
            assert!(refused.is_none_or(|reason| said.contains(reason)), "{name}: {said}");
        }
    });
}

#[test]
fn a_kubeconfig_of_the_node_runs_nothing() {
    let test = "trust::credential_plugin::owners::a_kubeconfig_of_the_node_runs_nothing";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let config = setting.config(exec(&plugin)).to_string();
        let node = Node::new();
        node.write("etc/kubernetes/kubelet.conf", &config);
        let _kubelet = node.kubelet(&["--kubeconfig=/etc/kubernetes/kubelet.conf"]);
        let root = node.root().display().to_string();
        let line = format!("version --host-root {root} --node-name worker-1 --timeout 2s -v");
        let ran = kq(&line).run();
        assert_eq!(setting.runs(), 0, "{}", ran.text());
        says(&ran.text(), "kq runs no program that a node names");
        // The same file, named by the operator.
        let path = setting.folder.join("config");
        write(&path, &config, 0, 0o600);
        kq(&format!("{line} --kubeconfig {}", path.display())).run();
        assert_eq!(setting.runs(), 1);
    });
}

#[test]
fn the_kubeconfig_in_the_home_runs_its_plugin() {
    let test = "trust::credential_plugin::owners::the_kubeconfig_in_the_home_runs_its_plugin";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let config = setting.config(exec(&plugin)).to_string();
        fs::create_dir_all("/mnt/home/.kube").expect("a folder");
        let path = Path::new("/mnt/home/.kube/config");
        for (owner, runs) in [(0, 1), (EVE, 0)] {
            write(path, &config, owner, 0o600);
            setting.forget_runs();
            let ran = kq("version --node-name a --timeout 2s -v").env("HOME", "/mnt/home").run();
            assert_eq!(setting.runs(), runs, "{owner}: {}", ran.text());
        }
    });
}

#[test]
fn a_completion_runs_no_plugin() {
    let test = "trust::credential_plugin::owners::a_completion_runs_no_plugin";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let path = setting.kubeconfig(exec(&plugin));
        let output = Command::new(env!("CARGO_BIN_EXE_kq"))
            .args(["--", "kq", "cgroup", "show", ""])
            .env_clear()
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", "3")
            .env("KUBECONFIG", &path)
            .output()
            .expect("kq starts");
        assert!(output.status.success());
        assert_eq!(setting.runs(), 0);
    });
}
