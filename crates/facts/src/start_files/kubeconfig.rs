//! A kubeconfig without its credentials: what `client-go/tools/clientcmd` checks before a client is made of it.

use super::Pem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::Cell;

/// A kubeconfig: its current context, with the user and the cluster of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubeconfig {
    /// Why it cannot be decoded; the rest is absent then.
    pub error: Option<String>,
    /// `current-context`
    pub current_context: String,
    /// The list of contexts has it.
    pub has_context: bool,
    /// The user of the context.
    pub user: NamedUser,
    /// The cluster of the context.
    pub cluster: NamedCluster,
}

/// The user of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedUser {
    pub name: String,
    pub has_token: bool,
    /// `tokenFile`
    pub token_file: Option<String>,
    /// A user name or a password.
    pub has_password: bool,
    /// `client-certificate` or its data.
    pub certificate: Held,
    /// `client-key` or its data.
    pub key: Held,
    /// A program gives the credentials.
    pub has_program: bool,
}

/// The cluster of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedCluster {
    pub name: String,
    pub server: String,
    /// `certificate-authority` or its data.
    pub authority: Held,
    /// `insecure-skip-tls-verify`
    pub is_insecure: bool,
    /// It has nothing but the defaults.
    pub is_empty: bool,
}

/// A certificate or key: a file, the data itself, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Held {
    /// The file, with its absolute path.
    pub file: Option<String>,
    /// The embedded data.
    pub data: Option<Pem>,
}

impl Held {
    /// Returns true if there is neither.
    pub fn is_none(&self) -> bool {
        self.file.is_none() && self.data.is_none()
    }
}

impl Kubeconfig {
    /// Reads the document. Relative paths are relative to the folder of the file. `pem` reads embedded data: base64;
    /// `None`: it is not that.
    pub fn of(document: &Value, folder: &str, pem: impl Fn(&str) -> Option<Pem>) -> Self {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        // A later entry of the same name is dropped, as by `Convert_Slice_v1_Named…_To_Map`.
        let named = |list: &str, kind: &str, name: &str| {
            let items = document.get(list)?.as_array()?;
            let item = items.iter().find(|item| text(item, "name") == name)?;
            Some(item.get(kind).cloned().unwrap_or_default())
        };
        let error = Cell::new(None);
        let held = |value: &Value, file: &str, data: &str| {
            let path = Some(text(value, file)).filter(|path| !path.is_empty());
            let data = Some(text(value, data)).filter(|data| !data.is_empty());
            let data = data.map(|data| {
                pem(&data).unwrap_or_else(|| {
                    error.set(Some("illegal base64 data".to_owned()));
                    Pem::default()
                })
            });
            Held { file: path.map(|path| absolute(folder, &path)), data }
        };
        let current_context = text(document, "current-context");
        let context = named("contexts", "context", &current_context);
        let has_context = context.is_some();
        let context = context.unwrap_or_default();
        let (user_name, cluster_name) = (text(&context, "user"), text(&context, "cluster"));
        let user = named("users", "user", &user_name).unwrap_or_default();
        let cluster = named("clusters", "cluster", &cluster_name).unwrap_or_default();
        let token_file = Some(text(&user, "tokenFile")).filter(|path| !path.is_empty());
        let made = Self {
            error: None,
            has_context,
            user: NamedUser {
                has_token: !text(&user, "token").is_empty(),
                token_file: token_file.map(|path| absolute(folder, &path)),
                has_password: ["username", "password"].iter().any(|it| !text(&user, it).is_empty()),
                certificate: held(&user, "client-certificate", "client-certificate-data"),
                key: held(&user, "client-key", "client-key-data"),
                has_program: ["exec", "auth-provider"].iter().any(|it| user.get(it).is_some()),
                name: user_name,
            },
            cluster: NamedCluster {
                server: text(&cluster, "server"),
                authority: held(&cluster, "certificate-authority", "certificate-authority-data"),
                is_insecure: cluster.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)),
                is_empty: cluster.as_object().is_none_or(serde_json::Map::is_empty),
                name: cluster_name,
            },
            current_context,
        };
        Self { error: error.take(), ..made }
    }

    /// Returns the files that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let held = [&self.user.certificate, &self.user.key, &self.cluster.authority];
        held.into_iter().filter_map(|it| it.file.as_deref()).chain(self.user.token_file.as_deref())
    }
}

fn absolute(folder: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    format!("{}/{}", folder.trim_end_matches('/'), path.trim_start_matches("./"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_current_context_decides() {
        let document = json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"user": "u", "cluster": "k"}}],
            "users": [
                {"name": "other", "user": {"token": "t"}},
                {"name": "u", "user": {"client-certificate": "pki/c.pem", "client-key-data": "QQ=="}},
            ],
            "clusters": [{"name": "k", "cluster": {"server": "https://a", "certificate-authority": "/ca.crt"}}],
        });
        let read = Kubeconfig::of(&document, "/etc/kubernetes", |_| Some(Pem::default()));
        assert!(read.has_context && !read.user.has_token && !read.cluster.is_empty);
        assert_eq!(read.files().collect::<Vec<_>>(), ["/etc/kubernetes/pki/c.pem", "/ca.crt"]);
        assert!(read.user.key.data.is_some());
        let stored = serde_json::to_string(&read).expect("it can be written");
        assert!(!stored.contains("QQ=="), "{stored}");
        let empty = Kubeconfig::of(&json!({}), "/", |_| Some(Pem::default()));
        assert!(!empty.has_context && empty.cluster.is_empty);
    }
}
