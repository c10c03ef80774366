//! How a plugin is run, as the kubeconfig says.

use crate::api_server::ApiError;
use crate::api_server::status::one_line;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{Cluster, ExecConfig, ExecInteractiveMode};
use serde_json::{Value, json};
use std::path::MAIN_SEPARATOR;
use std::time::Duration;

/// The versions of the answer (`apiVersions` of client-go).
const VERSIONS: [&str; 2] =
    ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// The variable that describes the run to a plugin.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// The extension of a cluster that is for plugins.
const EXTENSION: &str = "client.authentication.k8s.io/exec";

/// Whether a plugin gets standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InteractiveMode {
    Never,
    /// If it is a terminal.
    IfAvailable,
    /// It must be a terminal.
    Always,
}

/// The cluster in the input of a plugin.
pub(in crate::api_server) struct PluginCluster<'a> {
    pub(in crate::api_server) cluster: &'a Cluster,
    /// Its authorities in PEM, if it has its own.
    pub(in crate::api_server) authority: Option<Vec<u8>>,
}

/// How a plugin is run.
#[derive(PartialEq)]
pub(super) struct Settings {
    /// The kubeconfig, for messages.
    pub(super) path: String,
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    environment: Vec<(String, String)>,
    pub(super) api_version: &'static str,
    pub(super) interactive_mode: InteractiveMode,
    install_hint: Option<String>,
    cluster: Option<Value>,
    /// The time limit of a request.
    pub(super) deadline: Duration,
}

impl Settings {
    /// Reads the settings of a kubeconfig.
    /// Fails for those that kubectl refuses (`validateAuthInfo` of `tools/clientcmd/validation.go`).
    pub(super) fn of(
        exec: &ExecConfig,
        cluster: Option<PluginCluster<'_>>,
        path: &str,
        deadline: Duration,
    ) -> Result<Self, ApiError> {
        let refuse = |reason: String| ApiError::Kubeconfig { path: path.to_owned(), reason };
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let command = text(&exec.command);
        if command.is_empty() {
            return Err(refuse("the user's exec has no command".to_owned()));
        }
        let given = text(&exec.api_version);
        let api_version = VERSIONS.into_iter().find(|version| *version == given);
        let api_version = api_version.ok_or_else(|| {
            let [new, old] = VERSIONS;
            refuse(format!("exec: apiVersion is {given:?}, expected {new} or {old}"))
        })?;
        let interactive_mode = match (&exec.interactive_mode, api_version) {
            (Some(ExecInteractiveMode::Never), _) => InteractiveMode::Never,
            (Some(ExecInteractiveMode::IfAvailable), _) => InteractiveMode::IfAvailable,
            (Some(ExecInteractiveMode::Always), _) => InteractiveMode::Always,
            // The default of the older version (`SetDefaults_ExecConfig`).
            (None, version) if version == VERSIONS[1] => InteractiveMode::IfAvailable,
            (None, _) => {
                let reason =
                    "exec: interactiveMode is not set, expected Never, IfAvailable or Always";
                return Err(refuse(reason.to_owned()));
            }
        };
        let mut environment = Vec::new();
        for variable in exec.env.iter().flatten() {
            let field = |name: &str| variable.get(name).cloned().unwrap_or_default();
            let name = field("name");
            if name.is_empty() {
                return Err(refuse("exec: a variable of env has no name".to_owned()));
            }
            environment.push((name, field("value")));
        }
        Ok(Self {
            path: path.to_owned(),
            command,
            arguments: exec.args.clone().unwrap_or_default(),
            environment,
            api_version,
            interactive_mode,
            install_hint: exec.install_hint.clone().filter(|hint| !hint.trim().is_empty()),
            cluster: cluster.map(|it| it.to_json()),
            deadline,
        })
    }

    /// Returns the variables that are added to the environment of kq.
    pub(super) fn environment(&self, asks: bool) -> Vec<(String, String)> {
        let mut spec = json!({"interactive": asks});
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = json!({
            "kind": "ExecCredential",
            "apiVersion": self.api_version,
            "spec": spec,
        });
        let info = (EXEC_INFO.to_owned(), info.to_string());
        self.environment.iter().cloned().chain([info]).collect()
    }

    /// Returns the error of a run that gave nothing.
    pub(super) fn fault(&self, reason: impl Into<String>) -> ApiError {
        ApiError::Plugin {
            path: self.path.clone(),
            command: self.command.clone(),
            reason: reason.into(),
            hint: None,
        }
    }

    /// Returns the error of a program that is not there, with the hint of the kubeconfig.
    pub(super) fn absent(&self) -> ApiError {
        let reason = match self.command.contains(MAIN_SEPARATOR) {
            true => "is not there, or is not executable",
            false => "is not in PATH",
        };
        let hint = match &self.install_hint {
            Some(hint) => one_line(hint),
            None => "install the credential plugin that the kubeconfig names".to_owned(),
        };
        ApiError::Plugin {
            path: self.path.clone(),
            command: self.command.clone(),
            reason: reason.to_owned(),
            hint: Some(hint),
        }
    }
}

impl PluginCluster<'_> {
    /// Returns the input of the plugin (`Cluster` of `pkg/apis/clientauthentication/v1/types.go`).
    fn to_json(&self) -> Value {
        let Self { cluster, authority } = self;
        let extensions = cluster.extensions.iter().flatten();
        let config = extensions.into_iter().find(|it| it.name == EXTENSION);
        let mut value = json!({
            "server": cluster.server,
            "config": config.map(|it| &it.extension),
        });
        let texts =
            [("tls-server-name", &cluster.tls_server_name), ("proxy-url", &cluster.proxy_url)];
        for (name, text) in texts {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                value[name] = json!(text);
            }
        }
        let switches = [
            ("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify),
            ("disable-compression", cluster.disable_compression),
        ];
        for (name, switch) in switches {
            if switch == Some(true) {
                value[name] = json!(true);
            }
        }
        if let Some(pem) = authority {
            value["certificate-authority-data"] = json!(STANDARD.encode(pem));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(3);

    fn settings(exec: Value) -> Result<Settings, String> {
        let exec: ExecConfig = serde_json::from_value(exec).expect("fields of exec");
        Settings::of(&exec, None, "config", DEADLINE).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_those_that_kubectl_accepts() {
        let v1 = "client.authentication.k8s.io/v1";
        let old = "client.authentication.k8s.io/v1beta1";
        for (exec, expected) in [
            (json!({"apiVersion": v1}), Err("exec has no command")),
            (json!({"command": "aws"}), Err("apiVersion is \"\", expected client")),
            (
                json!({"command": "aws", "apiVersion": "client.authentication.k8s.io/v1alpha1"}),
                Err("v1alpha1\", expected client"),
            ),
            (json!({"command": "aws", "apiVersion": v1}), Err("interactiveMode is not set")),
            (
                json!({"command": "aws", "apiVersion": v1, "interactiveMode": "Never", "env": [{"value": "a"}]}),
                Err("a variable of env has no name"),
            ),
            (
                json!({"command": "aws", "apiVersion": v1, "interactiveMode": "Always"}),
                Ok(InteractiveMode::Always),
            ),
            (json!({"command": "aws", "apiVersion": old}), Ok(InteractiveMode::IfAvailable)),
            (
                json!({"command": "aws", "apiVersion": old, "interactiveMode": "Never"}),
                Ok(InteractiveMode::Never),
            ),
        ] {
            match (settings(exec.clone()), expected) {
                (Ok(settings), Ok(mode)) => assert_eq!(settings.interactive_mode, mode, "{exec}"),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{exec}: {error}"),
                (settings, _) => panic!("{exec}: {:?}", settings.map(|it| it.command)),
            }
        }
    }

    #[test]
    fn a_plugin_is_told_of_its_cluster() {
        let cluster: Cluster = serde_json::from_value(json!({
            "server": "https://a:1", "tls-server-name": "b", "insecure-skip-tls-verify": false,
            "proxy-url": "",
            "extensions": [
                {"name": "other", "extension": 1},
                {"name": EXTENSION, "extension": {"audience": "c"}},
            ],
        }))
        .expect("fields of a cluster");
        let cluster = PluginCluster { cluster: &cluster, authority: Some(b"pem".to_vec()) };
        let expected = json!({
            "server": "https://a:1", "tls-server-name": "b", "config": {"audience": "c"},
            "certificate-authority-data": "cGVt",
        });
        assert_eq!(cluster.to_json(), expected);
        let exec = json!({
            "command": "aws", "apiVersion": VERSIONS[1], "env": [{"name": "A", "value": "b"}],
        });
        let settings = settings(exec).expect("settings");
        let environment = settings.environment(true);
        assert_eq!(environment[0], ("A".to_owned(), "b".to_owned()));
        assert_eq!(environment[1].0, EXEC_INFO);
        let info: Value = serde_json::from_str(&environment[1].1).expect("JSON");
        let expected = json!({
            "kind": "ExecCredential", "apiVersion": VERSIONS[1], "spec": {"interactive": true},
        });
        assert_eq!(info, expected);
    }

    #[test]
    fn a_missing_program_is_hinted_at_in_one_line() {
        let exec = |hint: &str| {
            json!({
                "command": "aws", "apiVersion": VERSIONS[1], "installHint": hint,
            })
        };
        let absent = |hint: &str| settings(exec(hint)).expect("settings").absent();
        let error = absent("Install it:\n\n\t\u{1b}[31mhttps://a.example\n");
        assert_eq!(error.hint().as_deref(), Some("Install it: [31mhttps://a.example"));
        assert!(absent(" ").hint().is_some_and(|hint| hint.starts_with("install the")));
    }
}
