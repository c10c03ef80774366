//! The versions of kq, the kubelet and the container runtime, and of the rules that answers follow.

use kq_answer::origin::Origin;
use kq_answer::{Basis, Missing, MissingFact, Warning, WarningCode, answer};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::runtime::{LowLevelRuntime, RuntimeVersion};
use kq_facts::snapshot::Snapshot;
use kq_k8s::version::KubeletVersion;
use kq_output::table::{Column, Rows, Table};
use serde::Serialize;

/// The versions of kq and of the node's components.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Versions {
    /// This program.
    pub client: ClientVersion,
    /// The kubelet of the node; null: unknown, or only the client's version is requested.
    pub kubelet: Option<ComponentVersion>,
    /// The container runtime; null: as for the kubelet.
    pub runtime: Option<ComponentVersion>,
    /// The program that creates containers; null: as for the kubelet.
    pub low_level_runtime: Option<ComponentVersion>,
    /// The rules that answers follow.
    pub rules: RulesVersion,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("Version", Versions);

/// The version of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientVersion {
    /// `0.1.0`
    pub version: &'static str,
    /// The commit that it was built from; null: not recorded at build.
    pub commit: Option<&'static str>,
}

/// The version of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentVersion {
    /// `kubelet`, `containerd`, `runc`
    pub name: String,
    /// The version as the component writes it.
    pub version: String,
    /// The source of the version.
    pub source: String,
}

/// The kubelet versions whose rules kq knows, and the one whose rules it uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesVersion {
    /// The kubelet version whose rules answers about this node follow; null: only the client's version is requested.
    pub used: Option<String>,
    /// The oldest version whose rules kq knows.
    pub oldest: String,
    /// The newest version whose rules kq knows.
    pub newest: String,
}

impl ClientVersion {
    /// Returns the version of this program. `KQ_COMMIT` is an environment variable of the build.
    pub const OWN: Self =
        Self { version: env!("CARGO_PKG_VERSION"), commit: option_env!("KQ_COMMIT") };
}

impl RulesVersion {
    fn new(used: Option<KubeletVersion>) -> Self {
        Self {
            used: used.map(|version| release(version.known().used())),
            oldest: release(KubeletVersion::OLDEST),
            newest: release(KubeletVersion::NEWEST),
        }
    }
}

/// Returns the version without its patch, which does not change rules.
fn release(version: KubeletVersion) -> String {
    KubeletVersion::new(version.major, version.minor).to_string()
}

impl ComponentVersion {
    fn new(name: &str, version: &str, source: &str) -> Self {
        Self { name: name.to_owned(), version: version.to_owned(), source: source.to_owned() }
    }
}

/// Returns the facts that versions need.
pub fn versions_needs() -> Needs {
    Needs::of(&[FactKey::Node, FactKey::LowLevelRuntime])
}

/// Returns the version of this program and the rules that it knows.
pub fn client_version() -> Versions {
    Versions {
        client: ClientVersion::OWN,
        kubelet: None,
        runtime: None,
        low_level_runtime: None,
        rules: RulesVersion::new(None),
        basis: Basis::default(),
    }
}

/// Returns the versions of this program and of a node.
pub fn versions(node: &Node) -> Versions {
    let snapshot = &node.snapshot;
    let mut versions = Versions {
        kubelet: kubelet(node),
        runtime: runtime(snapshot),
        low_level_runtime: low_level_runtime(snapshot),
        rules: RulesVersion::new(Some(node.kubelet.version)),
        ..client_version()
    };
    let basis = &mut versions.basis;
    if versions.kubelet.is_none() {
        let reason = if !snapshot.kubelet_version.tried.is_empty() {
            snapshot.kubelet_version.reason()
        } else if !snapshot.node.tried.is_empty() {
            snapshot.node.reason()
        } else {
            "no kubelet and no Node object were found".to_owned()
        };
        let text = format!("the kubelet's version is unknown: {reason}");
        basis.lack(Missing::new(MissingFact::KubeletVersion, text).with_flags([
            "--kubelet-version VERSION",
            "--snapshot FILE",
            "--kubeconfig FILE",
        ]));
        basis.assume_all(node.assumed_version());
    }
    let unknown = match snapshot.runtime.value() {
        None => Some(("container runtime", snapshot.runtime.reason())),
        Some(runtime) if runtime.low_level.found.is_none() => {
            Some(("low-level runtime", runtime.low_level.reason()))
        }
        Some(_) => None,
    };
    basis.warn_all(unknown.map(|(component, reason)| {
        let text = format!("the version of the {component} is unknown: {reason}");
        Warning::new(WarningCode::UnknownVersion, text).about(component)
    }));
    basis.warn_all(node.kubelet.warnings.iter().cloned());
    versions
}

/// Returns the kubelet's version in its own words, from the source that took precedence.
fn kubelet(node: &Node) -> Option<ComponentVersion> {
    let Origin::Source(source) = &node.kubelet.version_origin else { return None };
    let version = node.snapshot.kubelet_build()?;
    Some(ComponentVersion::new("kubelet", version, source))
}

fn runtime(snapshot: &Snapshot) -> Option<ComponentVersion> {
    let found = snapshot.runtime.found.as_ref()?;
    let RuntimeVersion { runtime_name, runtime_version, .. } = &found.value.version;
    Some(ComponentVersion::new(runtime_name, runtime_version, &found.source))
}

fn low_level_runtime(snapshot: &Snapshot) -> Option<ComponentVersion> {
    let LowLevelRuntime { name, version, path } = snapshot.runtime.value()?.low_level.value()?;
    Some(ComponentVersion::new(name, version, path))
}

/// A line of the table.
struct Row {
    component: &'static str,
    version: String,
    source: String,
}

/// Returns a line for each component.
pub fn table(versions: &Versions) -> Table {
    let row = |component, version: String, source: String| Row { component, version, source };
    let ClientVersion { version, commit } = versions.client;
    let commit = commit.map_or_else(|| "-".to_owned(), |commit| format!("commit {commit}"));
    let mut rows = vec![row("client", version.to_owned(), commit)];
    let components = [
        ("kubelet", &versions.kubelet),
        ("runtime", &versions.runtime),
        ("low-level runtime", &versions.low_level_runtime),
    ];
    let RulesVersion { used, oldest, newest } = &versions.rules;
    if used.is_some() {
        rows.extend(components.map(|(component, found)| match found {
            None => row(component, "unknown".to_owned(), "-".to_owned()),
            Some(it) if it.name == component => {
                row(component, it.version.clone(), it.source.clone())
            }
            Some(it) => row(component, format!("{} {}", it.name, it.version), it.source.clone()),
        }));
    }
    let known = format!("known: {oldest} to {newest}");
    rows.push(row("rules", used.as_ref().unwrap_or(newest).clone(), known));
    Rows::of(&rows).table(&[
        Column::new("COMPONENT", |row: &Row| row.component.to_owned()),
        Column::new("VERSION", |row| row.version.clone()),
        Column::text("SOURCE", |row| row.source.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::lookup::Lookup;
    use kq_facts::overrides::Overrides;

    fn versions_of(version: Option<&str>) -> Versions {
        let kubelet_version = match version {
            Some(version) => Lookup::found("/usr/bin/kubelet", version.to_owned()),
            None => Lookup::failed("/usr/bin/kubelet", "permission denied"),
        };
        let taken_at = "2026-11-20T11:25:06Z".to_owned();
        let snapshot = Snapshot { kubelet_version, taken_at, ..Snapshot::default() };
        let node = Node::of(snapshot, Overrides::default());
        versions(&node.expect("a node"))
    }

    #[test]
    fn rules_are_those_of_the_nearest_known_version() {
        for (version, used) in [
            ("v1.36.2+k3s1", "1.36"),
            ("v1.33.1", "1.33"),
            ("v1.20.0", "1.32"),
            ("v1.37.1", "1.37"),
            ("v1.99.0", "1.37"),
        ] {
            let versions = versions_of(Some(version));
            let kubelet = versions.kubelet.expect("a kubelet");
            assert_eq!((&*kubelet.version, &*kubelet.source), (version, "/usr/bin/kubelet"));
            assert_eq!(versions.rules.used.as_deref(), Some(used), "{version}");
            assert!(versions.basis.missing.is_empty(), "{version}");
        }
    }

    #[test]
    fn an_unknown_version_is_missing() {
        let versions = versions_of(None);
        assert_eq!(versions.kubelet, None);
        assert_eq!(versions.rules.used.as_deref(), Some("1.36"));
        let text = "the kubelet's version is unknown: /usr/bin/kubelet: permission denied";
        assert_eq!(versions.basis.missing[0].text, text);
    }

    #[test]
    fn the_client_alone_has_no_node() {
        let text = table(&client_version()).to_string();
        assert!(text.contains("client") && text.contains("known: 1.32 to 1.37"), "{text}");
        assert!(!text.contains("kubelet"), "{text}");
    }
}
