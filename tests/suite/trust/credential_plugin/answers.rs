//! What a plugin gives, and when it is asked again.

use super::*;
use crate::cli::interactive::terminal;
use std::io::Write;
use std::process::Stdio;

const OLD: &str = "client.authentication.k8s.io/v1beta1";

#[test]
fn a_plugin_gives_a_token() {
    in_own_namespaces("trust::credential_plugin::answers::a_plugin_gives_a_token", || {
        let setting = Setting::new();
        let plugin = setting.token_plugin("plugin");
        let mut old = exec("plugin");
        old["apiVersion"] = json!(OLD);
        old["interactiveMode"] = Value::Null;
        let as_yaml = format!(
            "cat <<X\nkind: ExecCredential\napiVersion: {V1}\nstatus: {{token: {SECRET}}}\nX"
        );
        setting.plugin("yaml", &as_yaml);
        let answer = credential(json!({"token": SECRET})).to_string().replace(V1, OLD);
        setting.plugin("old", &format!("echo '{answer}'"));
        old["command"] = json!("old");
        for (name, exec) in [
            ("a path", exec(&plugin)),
            ("beside the kubeconfig", exec("./plugin")),
            ("in PATH", exec("plugin")),
            ("the older version", old),
            ("YAML", exec("yaml")),
        ] {
            setting.forget_runs();
            let ran = setting.ask(&setting.kubeconfig(exec));
            assert_eq!(ran.code, 0, "{name}: {}", ran.text());
            // For the nodes, and for the pods of three nodes at the same time.
            assert_eq!(setting.runs(), 1, "{name}");
            lacks(&ran.text(), SECRET);
        }
        assert_eq!(setting.server.seen().len(), 5 * 4);
    });
}

#[test]
fn a_plugin_is_told_what_the_kubeconfig_says() {
    let test = "trust::credential_plugin::answers::a_plugin_is_told_what_the_kubeconfig_says";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let answer = credential(json!({"token": SECRET}));
        setting.plugin(
            "plugin",
            &format!(
                "echo \"$1 $2 $A\" > /mnt/told; echo \"$KUBERNETES_EXEC_INFO\" > /mnt/info\n\
                 cat > /mnt/input; echo 'log in at https://idp.example' >&2; echo '{answer}'"
            ),
        );
        let mut exec = exec("plugin");
        exec["args"] = json!(["get-token", "it's"]);
        exec["env"] = json!([{"name": "A", "value": "of the kubeconfig"}]);
        let ran = setting.ask(&setting.kubeconfig(exec.clone()));
        assert_eq!(ran.code, 0, "{}", ran.text());
        says(&ran.stderr, "log in at https://idp.example");
        let read = |path: &str| fs::read_to_string(path).expect("the plugin wrote it");
        assert_eq!(read("/mnt/told"), "get-token it's of the kubeconfig\n");
        assert_eq!(read("/mnt/input"), "");
        let info: Value = serde_json::from_str(&read("/mnt/info")).expect("JSON");
        let expected =
            json!({"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": false}});
        assert_eq!(info, expected);
        exec["provideClusterInfo"] = json!(true);
        let mut config = setting.config(exec);
        let cluster = &mut config["clusters"][0]["cluster"];
        cluster["extensions"] =
            json!([{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]);
        let authority = cluster["certificate-authority-data"].clone();
        write(&setting.folder.join("config"), &config.to_string(), 0, 0o600);
        let ran = setting.ask(&setting.folder.join("config"));
        assert_eq!(ran.code, 0, "{}", ran.text());
        let info: Value = serde_json::from_str(&read("/mnt/info")).expect("JSON");
        let expected = json!({
            "server": setting.server.url("https"), "certificate-authority-data": authority,
            "config": {"audience": "x"},
        });
        assert_eq!(info["spec"]["cluster"], expected);
    });
}

#[test]
fn a_plugin_gives_a_client_certificate() {
    let test = "trust::credential_plugin::answers::a_plugin_gives_a_client_certificate";
    in_own_namespaces(test, || {
        let authority = Authority::new();
        let client = authority.sign(&["kq"]);
        let server = authority.sign(&["127.0.0.1"]);
        let wire = Wire::Tls(server.demanding(&authority, rustls::ALL_VERSIONS));
        let setting = Setting::with(authority, wire, |_| None, Duration::ZERO);
        let status = json!({
            "clientCertificateData": client.certificate, "clientKeyData": client.key,
        });
        write(&setting.folder.join("answer"), &credential(status).to_string(), 0, 0o600);
        setting.plugin("plugin", "cat /mnt/kube/answer");
        let ran = setting.ask(&setting.kubeconfig(exec("plugin")));
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert_eq!(setting.runs(), 1);
        for seen in setting.server.seen() {
            assert_eq!((seen.certificates, seen.header("authorization")), (1, None));
        }
        lacks(&ran.text(), "PRIVATE KEY");
    });
}

#[test]
fn a_token_that_ends_is_renewed_once() {
    let test = "trust::credential_plugin::answers::a_token_that_ends_is_renewed_once";
    in_own_namespaces(test, || {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        // It ends after the list of nodes, while the pods of three nodes are asked for.
        let change = |number| (number == 1).then_some("the-second-token");
        let setting = Setting::with(authority, wire, change, Duration::ZERO);
        let [first, second] =
            [SECRET, "the-second-token"].map(|token| credential(json!({"token": token})));
        setting.plugin(
            "plugin",
            &format!(
                "if test $(wc -l < /mnt/runs) = 1; then echo '{first}'; else echo '{second}'; fi"
            ),
        );
        let ran = setting.ask(&setting.kubeconfig(exec("plugin")));
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert_eq!(setting.runs(), 2);
        lacks(&ran.text(), "the-second-token");
    });
}

#[test]
fn a_token_that_is_never_accepted_is_renewed_once() {
    let test = "trust::credential_plugin::answers::a_token_that_is_never_accepted_is_renewed_once";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        setting.token_plugin("plugin");
        *setting.token.lock().expect("no thread panicked") = "another".to_owned();
        let ran = setting.ask(&setting.kubeconfig(exec("plugin")));
        assert_eq!(ran.code, 3, "{}", ran.text());
        says(&ran.stderr, "401 Unauthorized");
        assert_eq!((setting.runs(), setting.server.seen().len()), (2, 2));
    });
}

#[test]
fn a_token_counts_until_the_time_that_the_plugin_names() {
    let test =
        "trust::credential_plugin::answers::a_token_counts_until_the_time_that_the_plugin_names";
    in_own_namespaces(test, || {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let setting = Setting::with(authority, wire, |_| None, Duration::from_millis(1_200));
        for (expires, runs) in [("2020-01-02T03:04:05Z", 2), ("2120-01-02T03:04:05+01:00", 1)] {
            let status = json!({"token": SECRET, "expirationTimestamp": expires});
            setting.plugin("plugin", &format!("echo '{}'", credential(status)));
            setting.forget_runs();
            let kubeconfig = setting.kubeconfig(exec("plugin"));
            let flags = format!("--kubeconfig {} --timeout 20s", kubeconfig.display());
            let ran = setting.asking(&flags).run();
            assert_eq!(ran.code, 0, "{}", ran.text());
            // For the nodes, and for the pods, which are asked for together.
            assert_eq!(setting.runs(), runs, "{expires}");
        }
    });
}

#[test]
fn a_fleet_has_one_credential_for_all_nodes() {
    let test = "trust::credential_plugin::answers::a_fleet_has_one_credential_for_all_nodes";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        setting.token_plugin("plugin");
        let kubeconfig = setting.kubeconfig(exec("plugin"));
        let line = format!("fleet run --api-only --kubeconfig {} -- version", kubeconfig.display());
        let ran =
            kq(&line).env("PATH", format!("{}:/usr/bin:/bin", setting.folder.display())).run();
        // Each node is asked about in a process of its own.
        assert_eq!(setting.runs(), 1, "{}", ran.text());
        let nodes = setting.server.seen().into_iter().filter(|it| it.line.contains("/nodes/"));
        assert_eq!(nodes.count(), 3, "{}", ran.text());
        // The port of the server may have these digits.
        lacks(&ran.text(), "401 Unauthorized");
        lacks(&ran.text(), SECRET);
    });
}

#[test]
fn a_token_of_the_user_comes_before_the_plugin() {
    let test = "trust::credential_plugin::answers::a_token_of_the_user_comes_before_the_plugin";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        setting.token_plugin("plugin");
        let mut config = setting.config(exec("plugin"));
        config["users"][0]["user"]["token"] = json!(SECRET);
        let path = setting.folder.join("config");
        write(&path, &config.to_string(), 0, 0o600);
        let ran = setting.ask(&path);
        assert_eq!((ran.code, setting.runs()), (0, 0), "{}", ran.text());
    });
}

#[test]
fn a_plugin_asks_at_a_terminal_if_the_kubeconfig_lets_it() {
    let test =
        "trust::credential_plugin::answers::a_plugin_asks_at_a_terminal_if_the_kubeconfig_lets_it";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        let answer = credential(json!({"token": SECRET}));
        setting.plugin(
            "plugin",
            &format!(
                "read -r answer; echo \"$answer\" > /mnt/answer\n\
                 echo \"$KUBERNETES_EXEC_INFO\" > /mnt/info; echo '{answer}'"
            ),
        );
        for (mode, answer) in [("Never", "\n"), ("IfAvailable", "yes\n"), ("Always", "yes\n")] {
            let mut exec = exec(setting.folder.join("plugin"));
            exec["interactiveMode"] = json!(mode);
            let (mut person, program) = terminal();
            person.write_all(b"yes\n").expect("the terminal keeps it");
            let output = Command::new(env!("CARGO_BIN_EXE_kq"))
                .args(["preempt", "explain", "examples/night/dns.yaml", "--all-nodes"])
                .arg("--kubeconfig")
                .arg(setting.kubeconfig(exec))
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .current_dir(repository())
                .stdin(Stdio::from(program))
                .output()
                .expect("kq starts");
            assert_eq!(output.status.code(), Some(0), "{mode}: {output:?}");
            let read = |path: &str| fs::read_to_string(path).expect("the plugin wrote it");
            assert_eq!(read("/mnt/answer"), answer, "{mode}");
            let info: Value = serde_json::from_str(&read("/mnt/info")).expect("JSON");
            assert_eq!(info["spec"]["interactive"], json!(mode != "Never"), "{mode}");
        }
    });
}
