//! The text of a configuration file to the document that the kubelet goes on with, or its error.
//!
//! `DecodeKubeletConfiguration` and `DecodeKubeletConfigurationIntoJSON` in
//! `pkg/kubelet/kubeletconfig/util/codec/codec.go`, `Decode` in
//! `k8s.io/apimachinery/pkg/runtime/serializer/json/json.go`, `Interpret` in `meta.go` there.

use super::decode::{DecodeProblem, decode};
use super::read::{API_VERSION, KIND};
use super::schema::below;
use kq_k8s::go_json::Tree;
use kq_k8s::go_text::quote;
use kq_k8s::go_yaml::{self, GoYamlError};
use kq_k8s::version::KubeletVersion;
use serde_json::Value;
use std::collections::BTreeSet;

/// The structure that takes kind and version, as Go shows its type.
const HEAD_TYPE: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                         \"json:\\\"kind,omitempty\\\"\" }";

/// The other kinds of the kubelet's configuration, with their versions.
const OTHERS: [(&str, &str); 8] = [
    ("CredentialProviderConfig", "v1"),
    ("CredentialProviderConfig", "v1beta1"),
    ("ImagePullIntent", "v1beta1"),
    ("ImagePulledRecord", "v1beta1"),
    ("SerializedNodeConfigSource", "v1beta1"),
    ("KubeletConfiguration", "__internal"),
    ("CredentialProviderConfig", "__internal"),
    ("SerializedNodeConfigSource", "__internal"),
];

/// The first document of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigDocument {
    pub tree: Tree,
    /// What a strict reading says of keys that come twice: errors that the kubelet logs for its file, and refuses
    /// in a drop-in.
    pub duplicates: Vec<String>,
}

/// Why a text has no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenDocument {
    /// In the kubelet's words.
    #[error("{0}")]
    Refused(String),
    /// Beyond the bounds of kq.
    #[error("not computed: {0}")]
    Bound(&'static str),
}

impl ConfigDocument {
    /// Reads the first document of a text: JSON where it begins with a brace, else YAML.
    pub fn of(text: &[u8]) -> Result<Self, BrokenDocument> {
        let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
        if text.get(start) == Some(&b'{') {
            return match Tree::parse(text) {
                Ok(Some(tree)) => Ok(Self { tree, duplicates: Vec::new() }),
                Ok(None) => Err(BrokenDocument::Bound("JSON nested more than 100 levels deep")),
                Err(error) => Err(BrokenDocument::Refused(format!(
                    "couldn't get version/kind; json parse error: {error}"
                ))),
            };
        }
        match go_yaml::read(text) {
            Ok(read) => {
                let lines = read.duplicates.join("\n  ");
                let duplicates = match lines.is_empty() {
                    true => Vec::new(),
                    false => vec![format!("yaml: unmarshal errors:\n  {lines}")],
                };
                Ok(Self { tree: read.tree, duplicates })
            }
            Err(GoYamlError::Bound(bound)) => Err(BrokenDocument::Bound(bound)),
            Err(error) => Err(BrokenDocument::Refused(error.to_string())),
        }
    }
}

impl ConfigDocument {
    /// Returns what a strict reading into no structure says of keys that come twice, of YAML or of JSON.
    pub fn repeated(self) -> Vec<String> {
        let mut found = self.duplicates;
        if found.is_empty() {
            repeats(&self.tree, "", &mut found);
        }
        found
    }
}

/// The kubelet lists no more of them.
const MOST_REPEATS: usize = 100;

fn repeats(tree: &Tree, path: &str, found: &mut Vec<String>) {
    match tree {
        Tree::Object(fields) => {
            let mut names = BTreeSet::new();
            for (name, value) in fields {
                let path = below(path, name);
                if !names.insert(name) && found.len() < MOST_REPEATS {
                    let text = format!("duplicate field {}", quote(&path));
                    if !found.contains(&text) {
                        found.push(text);
                    }
                }
                repeats(value, &path, found);
            }
        }
        Tree::List(items) => {
            for (at, item) in items.iter().enumerate() {
                repeats(item, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}

/// Returns true for the space that may stand before JSON.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// A configuration file that the kubelet goes on with.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedConfig {
    /// The document, with the last of several values of a key, and with the fields that it does not know.
    pub document: Value,
    /// What strict decoding says of it, which the kubelet logs: `strict decoding error: ...`.
    pub strict_error: Option<String>,
}

/// Why the kubelet does not take a configuration file. The text is what it says of the contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigTextError {
    /// It is no document, or its kind and version cannot be read.
    #[error("failed to decode: {0}")]
    Broken(String),
    /// `Kind` or `apiVersion` is missing.
    #[error("failed to decode: Object '{field}' is missing in '{text}'")]
    Missing { field: &'static str, text: String },
    /// Another kind or version.
    #[error("failed to decode: {}", unregistered(kind, api_version))]
    OtherType { kind: String, api_version: String },
    /// Another kind of the kubelet's.
    #[error(
        "failed to cast object to KubeletConfiguration, unexpected type: {api_version}, Kind={kind}"
    )]
    Cast { kind: String, api_version: String },
    /// A value of the wrong type.
    #[error("failed to decode: {}", .0.text)]
    Type(DecodeProblem),
    /// Beyond the bounds of kq.
    #[error("not computed: {0}")]
    Bound(&'static str),
}

/// Returns the words for a kind that is not registered (`NewNotRegisteredErrForKind`), of 1.36.
pub fn unregistered(kind: &str, api_version: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \
         \"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme/scheme.go:33\"",
        quote(kind),
        quote(api_version)
    )
}

impl DecodedConfig {
    /// Decodes the text of a configuration file, which is not empty.
    pub fn of(text: &[u8], version: KubeletVersion) -> Result<Self, ConfigTextError> {
        let ConfigDocument { tree, duplicates } =
            ConfigDocument::of(text).map_err(|error| match error {
                BrokenDocument::Refused(text) => ConfigTextError::Broken(text),
                BrokenDocument::Bound(bound) => ConfigTextError::Bound(bound),
            })?;
        let body = || String::from_utf8_lossy(text).into_owned();
        let head = DocumentHead::of(&tree).map_err(ConfigTextError::Broken)?;
        if let Some(field) = head.missing() {
            return Err(ConfigTextError::Missing { field, text: body() });
        }
        let DocumentHead { kind, api_version } = head;
        if kind != KIND || api_version != API_VERSION {
            return Err(match is_other_kind(&kind, &api_version) {
                true => ConfigTextError::Cast { kind, api_version },
                false => ConfigTextError::OtherType { kind, api_version },
            });
        }
        let decoding = decode(&tree, version);
        if let Some(problem) = decoding.problem {
            return Err(ConfigTextError::Type(problem));
        }
        let strict: Vec<String> = duplicates.into_iter().chain(decoding.strict).collect();
        let strict_error =
            (!strict.is_empty()).then(|| format!("strict decoding error: {}", strict.join(", ")));
        Ok(Self { document: tree.to_value(), strict_error })
    }
}

/// Returns true for other kinds that the kubelet's decoder knows.
pub fn is_other_kind(kind: &str, api_version: &str) -> bool {
    let version = api_version.strip_prefix("kubelet.config.k8s.io/");
    version.is_some_and(|version| OTHERS.contains(&(kind, version)))
}

/// Kind and version of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentHead {
    pub kind: String,
    pub api_version: String,
}

impl DocumentHead {
    /// Finds kind and version, whatever the case of their names; fails with the kubelet's words.
    pub fn of(tree: &Tree) -> Result<Self, String> {
        let refuse =
            |error: String| format!("couldn't get version/kind; json parse error: {error}");
        let fields = match tree {
            Tree::Object(fields) => fields.as_slice(),
            Tree::Null => &[],
            other => {
                let kind = other.kind();
                let text =
                    format!("json: cannot unmarshal {kind} into Go value of type {HEAD_TYPE}");
                return Err(refuse(text));
            }
        };
        let mut head = Self::default();
        let mut error = None;
        for (name, value) in fields {
            let (field, place) = match folded(name).as_str() {
                "kind" => ("kind", &mut head.kind),
                "apiversion" => ("apiVersion", &mut head.api_version),
                _ => continue,
            };
            match value {
                Tree::Text(text) => text.clone_into(place),
                Tree::Null => {}
                other => {
                    let kind = other.kind();
                    error.get_or_insert(format!(
                        "json: cannot unmarshal {kind} into Go struct field .{field} of type string"
                    ));
                }
            }
        }
        if let Some(error) = error {
            return Err(refuse(error));
        }
        match head.api_version.matches('/').count() > 1 {
            true => Err(format!("unexpected GroupVersion string: {}", head.api_version)),
            false => Ok(head),
        }
    }

    /// Returns the first field that is missing, as the kubelet calls it.
    pub fn missing(&self) -> Option<&'static str> {
        let version = self.api_version.rsplit('/').next().unwrap_or_default();
        match (self.kind.is_empty(), version.is_empty()) {
            (true, _) => Some("Kind"),
            (false, true) => Some("apiVersion"),
            (false, false) => None,
        }
    }
}

/// Returns a name without regard to case, as Go's decoder compares it.
fn folded(name: &str) -> String {
    let fold = |char: char| match char {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        char => char.to_ascii_lowercase(),
    };
    name.chars().map(fold).collect()
}

/// The fields that hold a path (`KubeletConfigurationPathRefs` in `pkg/kubelet/apis/config/helpers.go`).
const PATHS: [&str; 7] = [
    "/staticPodPath",
    "/authentication/x509/clientCAFile",
    "/tlsCertFile",
    "/tlsPrivateKeyFile",
    "/resolvConf",
    "/volumePluginDir",
    "/podLogsDir",
];

/// Makes the relative paths of a configuration absolute, below the folder of its file.
pub fn resolve_paths(document: &mut Value, folder: &str) {
    for pointer in PATHS {
        if let Some(Value::String(path)) = document.pointer_mut(pointer)
            && !path.is_empty()
            && !path.starts_with('/')
        {
            *path = joined(folder, path);
        }
    }
}

/// Returns a path below a folder, without `.` and `..` (`filepath.Join`).
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
