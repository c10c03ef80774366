//! The cgroups of a machine, with the texts of their files.

use crate::cgroup_file::{CgroupFile, FileUse};
use crate::cgroup_layout::CgroupLayout;
use crate::cgroup_mode::CgroupVersion;
use crate::lookup::FailedSource;
use kq_answer::warning::{Warning, WarningCode};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of the cgroup tree that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupTree {
    /// Where the hierarchies are.
    pub layout: CgroupLayout,
    /// The cgroups by their path below the root, which is `/`; parents before what is in them. They are most of what is
    /// known of a node: copies of it share them.
    pub cgroups: Arc<BTreeMap<CgroupPath, CgroupTexts>>,
    /// `oom_score_adj` of the processes in the containers, by pid.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub oom_score_adj: BTreeMap<i32, String>,
    /// Existing files that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FailedSource>,
}

/// What to read of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeNeeds {
    /// The cgroups that are read with all that is in them; one that is not there is left out.
    pub roots: Vec<CgroupPath>,
    /// Single cgroups elsewhere of which the settings are read.
    pub beside: Vec<CgroupPath>,
    /// What the kernel counts, not only what is set.
    pub usage: bool,
    /// What it counts at length, of the pods and what they are in.
    pub statistics: bool,
    /// The processes, and `oom_score_adj` of those in containers.
    pub processes: bool,
}

/// The texts of the files of one cgroup by name, line ends and all. On cgroup v1, the files of all
/// hierarchies that have a cgroup of this path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CgroupTexts(pub BTreeMap<String, String>);

/// The path of a cgroup below the root: `/kubepods/burstable`. Ordered part by part, so that a cgroup
/// comes right before what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CgroupPath(String);

impl CgroupPath {
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Returns the path for a text; a path outside of the root is put below it.
    pub fn new(text: &str) -> Self {
        if text.len() > 1 && text.starts_with('/') && !text.ends_with('/') && !text.contains("//") {
            return Self(text.to_owned());
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        Self(format!("/{}", parts.join("/")))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of a cgroup in this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(if self.0 == "/" { format!("/{name}") } else { format!("{}/{name}", self.0) })
    }

    /// Returns the path of the cgroup that this one is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.0.rsplit_once('/')?;
        match (parent, self.0.as_str()) {
            (_, "/") => None,
            ("", _) => Some(Self::root()),
            (parent, _) => Some(Self(parent.to_owned())),
        }
    }

    /// Returns the last part; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns how many parts there are.
    pub fn depth(&self) -> usize {
        self.parts().count()
    }

    /// Returns true if this is the other cgroup or one in it.
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.0.strip_prefix(other.0.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }
}

impl Ord for CgroupPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Paths of pods are long and begin alike: what is equal is skipped in blocks.
        const BLOCK: usize = 16;
        let (own, other) = (self.0.as_bytes(), other.0.as_bytes());
        let blocks = own.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
        let equal = BLOCK * blocks.take_while(|(own, other)| own == other).count();
        // Between two different bytes of equal parts, `/` ends a part and so comes first.
        let end_first = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        own.iter().skip(equal).map(end_first).cmp(other.iter().skip(equal).map(end_first))
    }
}

impl PartialOrd for CgroupPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl CgroupTexts {
    /// Returns the text of a file without its line end; `None` if there is no such file.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.0.get(file).map(|text| text.trim_end_matches('\n'))
    }

    /// Returns the text of a file under the name that the kernel has for it.
    pub fn text_of(&self, file: CgroupFile) -> Option<&str> {
        let names = [CgroupVersion::V2, CgroupVersion::V1].map(|version| file.name_on(version));
        names.into_iter().flatten().find_map(|name| self.text(name))
    }

    /// Returns the number in a file that holds one.
    pub fn number(&self, file: CgroupFile) -> Option<u64> {
        self.text_of(file)?.trim().parse().ok()
    }

    /// Returns the number after a key in a file of `KEY NUMBER` lines.
    pub fn keyed(&self, file: CgroupFile, key: &str) -> Option<u64> {
        self.text_of(file)?.lines().find_map(|line| {
            let (name, number) = line.split_once(' ')?;
            (name == key).then(|| number.trim().parse().ok())?
        })
    }

    /// Returns true if it, or a cgroup below it, has processes; `None`: the kernel does not say, as on cgroup v1.
    pub fn is_populated(&self) -> Option<bool> {
        let mut lines = self.text_of(CgroupFile::CgroupEvents)?.lines();
        lines.find_map(|line| line.strip_prefix("populated ")).map(|it| it.trim() == "1")
    }

    /// Returns the pids in `cgroup.procs`; processes of other pid namespaces are 0 there and left out.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        let lines = self.text_of(CgroupFile::CgroupProcs).unwrap_or_default().lines();
        lines.filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid > 0)
    }

    /// Returns the share of time, in percent over the last ten seconds, in which something waited:
    /// `avg10` of the line `some` of a pressure file.
    pub fn pressure(&self, file: CgroupFile) -> Option<&str> {
        let line = self.text_of(file)?.lines().find_map(|line| line.strip_prefix("some "))?;
        line.split(' ').find_map(|pair| pair.strip_prefix("avg10="))
    }
}

impl CgroupTree {
    /// Returns the warnings about what could not be read.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.problems.iter().map(|problem| {
            let warning = Warning::new(WarningCode::UnreadCgroup, problem.to_string());
            warning.about(&problem.source)
        })
    }

    pub fn get(&self, path: &CgroupPath) -> Option<&CgroupTexts> {
        self.cgroups.get(path)
    }

    /// Returns why a cgroup, or a file of one, could not be read. `at`: its path below the roots of the hierarchies.
    pub fn problem_at(&self, at: &str) -> Option<&FailedSource> {
        let layout = &self.layout;
        let folder = |mount: &str| mount.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let is_at = |problem: &&FailedSource| {
            let Some(mount) = problem.source.strip_suffix(at) else { return false };
            // A controller has a link next to its hierarchy: `cpu` to `cpu,cpuacct`.
            let mut mounts = layout.controllers.values().chain(&layout.unified);
            mounts.any(|known| folder(known) == folder(mount))
        };
        self.problems.iter().find(is_at)
    }

    /// Walks over a cgroup and all in it.
    pub fn within<'t>(
        &'t self,
        root: &'t CgroupPath,
    ) -> impl Iterator<Item = (&'t CgroupPath, &'t CgroupTexts)> {
        self.cgroups.range(root..).take_while(|(path, _)| path.is_within(root))
    }

    /// Forgets what was not asked for: what the kernel counts, its statistics, or the processes and, with
    /// them, what is deeper below the roots than pods and containers are.
    pub fn restrict(
        &mut self,
        roots: &[CgroupPath],
        usage: bool,
        statistics: bool,
        processes: bool,
    ) {
        let Some(version) = self.layout.version() else { return };
        if !processes {
            self.oom_score_adj.clear();
            Arc::make_mut(&mut self.cgroups).retain(|path, _| {
                let within = roots.iter().find(|root| path.is_within(root));
                within.is_none_or(|root| path.depth() <= root.depth() + LEVELS)
            });
        }
        let top = CgroupPath::root();
        for (path, texts) in Arc::make_mut(&mut self.cgroups) {
            texts.0.retain(|name, _| {
                match CgroupFile::known(version, name).map(|file| file.row().used_for) {
                    // Of the root it is read with the statistics alone.
                    Some(FileUse::Usage) if *path == top => statistics,
                    Some(FileUse::Usage) => usage,
                    Some(FileUse::Statistics) => statistics,
                    Some(FileUse::Processes) => processes,
                    Some(FileUse::Setting | FileUse::OfProcess | FileUse::Population) | None => {
                        true
                    }
                }
            });
        }
    }

    /// Walks over the cgroups that are directly in one.
    pub fn children<'t>(
        &'t self,
        parent: &'t CgroupPath,
    ) -> impl Iterator<Item = (&'t CgroupPath, &'t CgroupTexts)> {
        let depth = parent.depth() + 1;
        self.within(parent).filter(move |(path, _)| path.depth() == depth)
    }
}

/// Below the cgroup of all pods there are at most this many levels: QoS class, pod, container. What is
/// deeper belongs to the programs in the container.
pub const LEVELS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_right_before_what_is_in_them() {
        let mut paths =
            ["/a/b", "/a-b", "/a", "/", "/a/b/c", "/a.slice", "/ab"].map(CgroupPath::new);
        paths.sort();
        let texts: Vec<&str> = paths.iter().map(CgroupPath::as_str).collect();
        assert_eq!(texts, ["/", "/a", "/a/b", "/a/b/c", "/a-b", "/a.slice", "/ab"]);
    }

    #[test]
    fn paths_have_parents_and_names() {
        for (path, parent, name, depth) in
            [("/", None, "", 0), ("/a", Some("/"), "a", 1), ("/a/b", Some("/a"), "b", 2)]
        {
            let path = CgroupPath::new(path);
            assert_eq!(path.parent(), parent.map(CgroupPath::new), "{path:?}");
            assert_eq!((path.name(), path.depth()), (name, depth), "{path:?}");
        }
        let pod = CgroupPath::new("/kubepods/pod1");
        for (other, expected) in
            [("/", true), ("/kubepods", true), ("/kubepods/pod1", true), ("/kube", false)]
        {
            assert_eq!(pod.is_within(&CgroupPath::new(other)), expected, "{other}");
        }
        assert_eq!(CgroupPath::root().child("a").child("b").as_str(), "/a/b");
    }

    #[test]
    fn kernel_texts_are_read() {
        let texts = [
            ("memory.events", "low 0\noom 3\noom_kill 2\n"),
            ("memory.current", "4096\n"),
            ("cgroup.procs", "12\n0\n7\n"),
            ("cpu.pressure", "some avg10=1.50 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00\n"),
            ("pids.max", "max\n"),
        ];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let texts = CgroupTexts(texts.into_iter().collect());
        assert_eq!(texts.keyed(CgroupFile::MemoryEvents, "oom_kill"), Some(2));
        assert_eq!(texts.keyed(CgroupFile::MemoryEvents, "none"), None);
        assert_eq!(texts.number(CgroupFile::MemoryCurrent), Some(4096));
        assert_eq!(
            (texts.number(CgroupFile::PidsMax), texts.text("pids.max")),
            (None, Some("max"))
        );
        assert_eq!(texts.pids().collect::<Vec<_>>(), [12, 7]);
        assert_eq!(texts.pressure(CgroupFile::CpuPressure), Some("1.50"));
        assert_eq!(texts.pressure(CgroupFile::IoPressure), None);
    }
}
