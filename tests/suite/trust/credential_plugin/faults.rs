//! What goes wrong with a plugin is said, without anything that it wrote to standard output.

use super::*;
use crate::edges::http_server::timed;

/// A plugin, and what is said of it.
struct Row {
    name: &'static str,
    script: &'static str,
    change: fn(&mut Value),
    said: &'static str,
}

const ROWS: [Row; 13] = [
    Row {
        name: "a missing one",
        script: "",
        change: |exec| {
            exec["command"] = json!("kq-test-auth-plugin");
            exec["installHint"] = json!("Install it for kubectl:\n\thttps://install.example/it\n");
        },
        said: "credential plugin \"kq-test-auth-plugin\" of kubeconfig /mnt/kube/config is not in PATH\n\
               hint: Install it for kubectl: https://install.example/it\n",
    },
    Row {
        name: "a path that leads nowhere",
        script: "",
        change: |exec| exec["command"] = json!("bin/aws"),
        said: "plugin \"/mnt/kube/bin/aws\" of kubeconfig /mnt/kube/config is not there, or is not executable\n\
               hint: install the credential plugin",
    },
    Row {
        name: "a name with an escape",
        script: "",
        change: |exec| exec["command"] = json!("\u{1b}[31mred"),
        said: "is not in PATH",
    },
    Row {
        name: "another version in its answer",
        script: "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"hunter2\"}}'",
        change: |_| {},
        said: "answered with apiVersion \"client.authentication.k8s.io/v1beta1\", and the kubeconfig asks for client.authentication.k8s.io/v1\n",
    },
    Row {
        name: "another version in the kubeconfig",
        script: "echo hunter2",
        change: |exec| exec["apiVersion"] = json!("client.authentication.k8s.io/v1alpha1"),
        said: "exec: apiVersion is \"client.authentication.k8s.io/v1alpha1\", expected client.authentication.k8s.io/v1 or",
    },
    Row {
        name: "no mode",
        script: "echo hunter2",
        change: |exec| exec["interactiveMode"] = Value::Null,
        said: "interactiveMode is not set",
    },
    Row {
        name: "garbage",
        script: "echo '\"hunter2' '\u{1b}[31m'",
        change: |_| {},
        said: "did not write an ExecCredential: it is neither JSON nor YAML",
    },
    Row { name: "nothing", script: ":", change: |_| {}, said: "wrote nothing to standard output" },
    Row {
        name: "no credential",
        script: "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{}}'",
        change: |_| {},
        said: "wrote neither a token nor a client certificate",
    },
    Row {
        name: "output without an end",
        script: "exec yes hunter2",
        change: |_| {},
        said: "wrote more than 1048576 bytes, and was ended",
    },
    Row {
        name: "one that hangs",
        script: "exec sleep 60",
        change: |_| {},
        said: "did not end within 2s, and was ended",
    },
    Row {
        name: "a failure",
        script: "echo hunter2; exit 3",
        change: |_| {},
        said: "failed with exit code 3",
    },
    Row {
        name: "one that needs a terminal",
        script: "echo hunter2",
        change: |exec| exec["interactiveMode"] = json!("Always"),
        said: "needs a terminal on standard input (interactiveMode: Always)",
    },
];

#[test]
fn what_is_wrong_with_a_plugin_is_said() {
    let test = "trust::credential_plugin::faults::what_is_wrong_with_a_plugin_is_said";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        for Row { name, script, change, said } in ROWS {
            setting.plugin("plugin", script);
            let mut exec = exec("plugin");
            change(&mut exec);
            let kubeconfig = setting.kubeconfig(exec);
            let flags = format!("--kubeconfig {} --timeout 100ms", kubeconfig.display());
            let ran = timed(Duration::from_secs(10), |_| setting.asking(&flags).run());
            assert_eq!(ran.code, 3, "{name}: {}", ran.text());
            assert!(ran.stderr.contains(said), "{name}: {}", ran.text());
            lacks(&ran.text(), "hunter2");
            lacks(&ran.text(), "\u{1b}");
        }
        assert!(setting.server.seen().is_empty());
    });
}

#[test]
fn a_plugin_is_not_run_for_a_server_without_tls() {
    let test = "trust::credential_plugin::faults::a_plugin_is_not_run_for_a_server_without_tls";
    in_own_namespaces(test, || {
        let setting = Setting::new();
        setting.token_plugin("plugin");
        let mut config = setting.config(exec("plugin"));
        config["clusters"][0]["cluster"] = json!({"server": setting.server.url("http")});
        let path = setting.folder.join("config");
        write(&path, &config.to_string(), 0, 0o600);
        let ran = setting.ask(&path);
        assert_eq!((ran.code, setting.runs()), (3, 0), "{}", ran.text());
        says(&ran.stderr, "credentials are not sent to");
    });
}
