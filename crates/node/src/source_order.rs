//! The precedence of sources. Pure: flags and available sources in, an order out.
//!
//! ```text
//! pods            --pods FILE          only these
//!                 --pods-from SOURCE   only this one
//!                 else                 API server (where a kubeconfig is known), kubelet, static
//!                                      manifests, container runtime
//! configuration   --kubelet-config     only this one; flags for single fields win over all
//!                 else                 /configz, the process with its file and drop-ins, defaults
//! node            --node-file          only this one; flags for single facts win over all
//!                 else                 API server, host
//! ```
//!
//! The node in question is decided first. Sources of other nodes are not queried:
//!
//! ```text
//! named by                                 node in question   files      sockets  its servers
//! nothing, --live                          this machine       all        all      all
//! --host-root, a running node's root       that node          beneath    beneath  all
//! --host-root, any other folder            the one copied     beneath    beneath  none
//! files in place of what a node says       that of the files  the named  none     none
//! ```
//!
//! A server or socket that a flag names (--kubeconfig, --kubelet-url, --runtime-endpoint) is always queried.

use kq_facts::snapshot::PodSource;

/// The flags that decide which node is in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFlags {
    /// `--live`, or `--pods-from`.
    pub live: bool,
    /// `--host-root`
    pub root: Option<RootFolder>,
    /// Files are named that replace facts of a node: `--pods`, `--node-file`, `--checkpoint`, ...
    pub files: bool,
    /// No file can replace the facts: the kernel's cgroups, the runtime's images.
    pub only_on_node: bool,
}

/// The kind of a root folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootFolder {
    /// The kernel's own `/proc` is in it: the node runs.
    Running,
    /// Files alone.
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeInQuestion {
    /// One that runs: this machine, or the one that it is a container of.
    Running,
    /// A copy of a node's files.
    Copied,
    /// The one that the named files are of.
    OfFiles,
}

impl NodeInQuestion {
    /// Returns the node in question.
    pub fn of(flags: NodeFlags) -> Self {
        match flags.root {
            Some(RootFolder::Copy) => Self::Copied,
            Some(RootFolder::Running) => Self::Running,
            None if flags.files && !flags.live && !flags.only_on_node => Self::OfFiles,
            None => Self::Running,
        }
    }

    /// Returns true if there is a root folder to read from.
    pub fn has_root(self) -> bool {
        self != Self::OfFiles
    }

    /// Returns true if the ports and environment of the machine that kq runs on are the node's.
    pub fn runs_here(self) -> bool {
        self == Self::Running
    }

    /// Returns why a server that no flag names is not queried; `None`: it is.
    pub fn not_queried(self) -> Option<&'static str> {
        match self {
            Self::Running => None,
            Self::Copied => Some("not queried: --host-root is a copy of a node's files"),
            Self::OfFiles => Some("not queried: files are given (--live queries this machine too)"),
        }
    }
}

/// The flags that name sources, and the available sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceFlags {
    /// `--pods`
    pub pod_files: bool,
    /// `--pods-from`
    pub pods_from: Option<PodSource>,
    /// `--kubelet-config`
    pub kubelet_config: bool,
    /// `--node-file`
    pub node_file: bool,
    /// A kubeconfig was named, or the kubelet has one.
    pub kubeconfig: bool,
}

/// Where a kubelet's configuration can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// A file that was named.
    File,
    /// The running kubelet's `/configz`.
    Configz,
    /// The running kubelet's command line, and the files that it names.
    Process,
}

/// The sources of facts about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSource {
    /// A file that was named.
    File,
    ApiServer,
    /// The machine itself.
    Host,
}

/// Returns the sources of pods, in order; the first one that answers wins.
pub fn pod_sources(given: SourceFlags) -> Vec<PodSource> {
    if given.pod_files {
        return vec![PodSource::Files];
    }
    if let Some(only) = given.pods_from {
        return vec![only];
    }
    let mut order = Vec::new();
    if given.kubeconfig {
        order.push(PodSource::ApiServer);
    }
    order.extend([PodSource::Kubelet, PodSource::StaticManifests, PodSource::Runtime]);
    order
}

/// Returns the sources of the kubelet's configuration, in order; after the last, the
/// defaults of its version apply.
pub fn config_sources(given: SourceFlags) -> Vec<ConfigSource> {
    match given.kubelet_config {
        true => vec![ConfigSource::File],
        false => vec![ConfigSource::Configz, ConfigSource::Process],
    }
}

/// Returns the sources of facts about the node, in order; a later one adds missing facts.
pub fn node_sources(given: SourceFlags) -> Vec<NodeSource> {
    let mut order = match (given.node_file, given.kubeconfig) {
        (true, _) => vec![NodeSource::File],
        (false, true) => vec![NodeSource::ApiServer],
        (false, false) => vec![],
    };
    order.push(NodeSource::Host);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_named_wins() {
        use PodSource::{ApiServer, Files, Kubelet, Runtime, StaticManifests};
        let nothing = SourceFlags::default();
        for (name, given, expected) in [
            ("nothing said", nothing, vec![Kubelet, StaticManifests, Runtime]),
            (
                "a kubeconfig",
                SourceFlags { kubeconfig: true, ..nothing },
                vec![ApiServer, Kubelet, StaticManifests, Runtime],
            ),
            (
                "files over everything",
                SourceFlags {
                    pod_files: true,
                    pods_from: Some(Kubelet),
                    kubeconfig: true,
                    ..nothing
                },
                vec![Files],
            ),
            (
                "one source",
                SourceFlags { pods_from: Some(StaticManifests), kubeconfig: true, ..nothing },
                vec![StaticManifests],
            ),
        ] {
            assert_eq!(pod_sources(given), expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_of_the_node_is_not_asked() {
        use NodeInQuestion::{Copied, OfFiles, Running};
        let nothing = NodeFlags::default();
        let files = NodeFlags { files: true, ..nothing };
        for (name, flags, expected) in [
            ("nothing said", nothing, Running),
            ("--live", NodeFlags { live: true, ..nothing }, Running),
            ("a running root", NodeFlags { root: Some(RootFolder::Running), ..nothing }, Running),
            ("a copied root", NodeFlags { root: Some(RootFolder::Copy), ..nothing }, Copied),
            ("files", files, OfFiles),
            ("files and --live", NodeFlags { live: true, ..files }, Running),
            ("files of a kernel", NodeFlags { only_on_node: true, ..files }, Running),
            (
                "files beside a running root",
                NodeFlags { root: Some(RootFolder::Running), ..files },
                Running,
            ),
            (
                "files beside a copy",
                NodeFlags { root: Some(RootFolder::Copy), live: true, ..files },
                Copied,
            ),
        ] {
            let node = NodeInQuestion::of(flags);
            assert_eq!(node, expected, "{name}");
            assert_eq!(node.not_queried().is_none(), node.runs_here(), "{name}");
        }
    }

    #[test]
    fn files_win_over_what_runs() {
        let given = SourceFlags {
            kubelet_config: true,
            node_file: true,
            kubeconfig: true,
            ..SourceFlags::default()
        };
        assert_eq!(config_sources(given), [ConfigSource::File]);
        assert_eq!(node_sources(given), [NodeSource::File, NodeSource::Host]);
        let none = SourceFlags::default();
        assert_eq!(config_sources(none), [ConfigSource::Configz, ConfigSource::Process]);
        assert_eq!(node_sources(none), [NodeSource::Host]);
        let kubeconfig = SourceFlags { kubeconfig: true, ..none };
        assert_eq!(node_sources(kubeconfig), [NodeSource::ApiServer, NodeSource::Host]);
    }
}
