//! The pods of a question: names, labels, a namespace, and files with pods.

use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, Selection, is_file, nearest_pod_name};
use kq_facts::workloads::{Workloads, effective_uid};
use kq_k8s::label_selector::LabelSelector;
use kq_k8s::manifest::LoadedPod;

/// The most unknown names for which similar ones are suggested.
const MOST_HINTS: usize = 3;

/// Namespace, name and UID of a pod; what is unknown is empty.
type Identity = (String, String, String);

/// The selected pods; without any selector, all pods.
#[derive(Clone, Debug, Default)]
pub struct PodSelectors {
    /// Names of pods, also NAMESPACE/NAME, and UIDs.
    pub pods: Vec<String>,
    /// Files; `-` is standard input.
    pub files: Vec<String>,
    /// Without names: the namespace of the pods.
    pub namespace: Option<String>,
    /// Without names: the labels of the pods.
    pub labels: Option<LabelSelector>,
}

impl PodSelectors {
    /// Distinguishes names and files by their form alone: a file is `-`, begins like a path or ends in
    /// `.yaml`, `.yml` or `.json`.
    pub fn of(arguments: &[String]) -> Self {
        let (files, pods) = arguments.iter().cloned().partition(|text: &String| is_file(text));
        Self { pods, files, ..Self::default() }
    }

    /// Restricts the pods to labels, and, where no pod is named, to a namespace.
    ///
    /// # Errors
    ///
    /// Fails for a name and labels together.
    pub fn within(
        self,
        namespace: Option<&str>,
        labels: Option<&LabelSelector>,
    ) -> Result<Self, Failure> {
        if let (Some(pod), Some(labels)) = (self.pods.first(), labels) {
            let both = anyhow!("--selector {labels}: pod {pod} is named");
            return Err(Failure::usage(both).hint("give the name or the labels"));
        }
        let is_named = !self.pods.is_empty() || !self.files.is_empty();
        let namespace = namespace.filter(|_| !is_named).map(str::to_owned);
        Ok(Self { namespace, labels: labels.cloned(), ..self })
    }

    /// Selects among the pods of a live node.
    ///
    /// # Errors
    ///
    /// Fails as [`PodSelectors::selection`] does.
    pub fn selection_of(&self, live: &Node) -> Result<Selection, Failure> {
        // A name matches a pod with a known specification; labels are matched for every pod.
        let others = match self.labels.is_some() {
            true => identities(&live.workloads),
            false => Vec::new(),
        };
        let incomplete = live.unknown_pods().map(|it| it.text);
        self.selection(live.loaded_pods(), &others, incomplete.as_deref())
    }

    /// Selects among the pods of a node; `others` are more pods that the sources name.
    ///
    /// # Errors
    ///
    /// Fails as [`PodSelectors::selection`] does.
    pub fn selection_on(
        &self,
        node: &Node,
        others: impl IntoIterator<Item = Identity>,
    ) -> Result<Selection, Failure> {
        let mut named = identities(&node.workloads);
        named.extend(others);
        self.selection(node.loaded_pods(), &named, node.unknown_pods().map(|it| it.text).as_deref())
    }

    /// Returns the pods with the labels.
    fn labelled(
        &self,
        labels: &LabelSelector,
        pods: &[LoadedPod],
        others: &[Identity],
        unknown: Option<&str>,
    ) -> Result<Selection, Failure> {
        let is_within = |it: &str| self.namespace.as_deref().is_none_or(|within| within == it);
        let of_files = |it: &LoadedPod| {
            self.files.is_empty() || self.files.iter().any(|file| *file == *it.source.file)
        };
        let pods = pods.iter().filter(|it| of_files(it)).map(|loaded| &*loaded.pod);
        let pods = pods.filter(|pod| is_within(&pod.metadata.namespace));
        let others = others.iter().map(|(n, p, u)| (n.as_str(), p.as_str(), u.as_str()));
        // The namespace of a pod that is known by its UID alone may be this one.
        let others = others.filter(|(namespace, ..)| namespace.is_empty() || is_within(namespace));
        let others = others.filter(|_| self.files.is_empty());
        let selection = Selection::labelled(labels, pods, others);
        if !selection.pods.is_empty() {
            return Ok(selection);
        }
        let place = match &self.namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "on this node".to_owned(),
        };
        let none = anyhow!("no pod {place} is known to have the labels {labels}");
        Err(match selection.missing() {
            Some(missing) => Failure::not_found(none, Some(&missing.text))
                .hint("name the pods with --pods FILE, or take a snapshot with this version of kq"),
            None => Failure::not_found(none, unknown),
        })
    }

    /// Selects the named pods and those of the files. `unknown` is the reason why not all pods of the node are known.
    ///
    /// # Errors
    ///
    /// Fails for a name or labels that no pod has.
    pub fn selection(
        &self,
        pods: &[LoadedPod],
        others: &[Identity],
        unknown: Option<&str>,
    ) -> Result<Selection, Failure> {
        if let Some(labels) = &self.labels {
            return self.labelled(labels, pods, others, unknown);
        }
        let mut selection =
            Selection::of(self.pods.iter().map(|name| PodSelector::new(name)).collect());
        selection.pods.extend(self.namespace.as_deref().map(PodSelector::of_namespace));
        let known = pods.iter().map(|loaded| {
            let metadata = &loaded.pod.metadata;
            (metadata.namespace.as_str(), metadata.name.as_str(), effective_uid(&loaded.pod))
        });
        let others_named = others.iter().map(|(n, p, u)| (n.as_str(), p.as_str(), u.as_str()));
        let is_empty = |selector: &PodSelector| match selector.is_namespace() {
            true => format!("in namespace {}", selector.namespace().unwrap_or_default()),
            false => selector.to_string(),
        };
        let unmatched: Vec<String> =
            selection.unmatched(known.clone().chain(others_named.clone())).map(is_empty).collect();
        let unnamed: Vec<String> = selection
            .unmatched(known.chain(others_named))
            .filter_map(|selector| selector.name().map(str::to_owned))
            .take(MOST_HINTS)
            .collect();
        if !unmatched.is_empty() {
            let error = anyhow!("no pod {} on this node", unmatched.join(", "));
            let all = pods.iter().map(|loaded| &loaded.pod.metadata);
            let all = all.map(|it| (it.namespace.as_str(), it.name.as_str()));
            let all: Vec<_> =
                all.chain(others.iter().map(|(n, p, _)| (n.as_str(), p.as_str()))).collect();
            let near =
                unnamed.iter().filter_map(|name| nearest_pod_name(name, all.iter().copied()));
            let failure = Failure::not_found(error, unknown);
            let failure = near.fold(failure, |it, near| it.hint(format!("did you mean {near}?")));
            return Err(failure.hint("kq cgroup show lists the pods that have cgroups"));
        }
        let from_files =
            pods.iter().filter(|loaded| self.files.iter().any(|file| *file == *loaded.source.file));
        selection.pods.extend(from_files.map(|loaded| {
            let metadata = &loaded.pod.metadata;
            PodSelector::new(&format!("{}/{}", metadata.namespace, loaded.pod.display_name()))
        }));
        Ok(selection)
    }
}

/// Returns namespace, name and UID of each pod that some source names.
pub fn identities(workloads: &Workloads) -> Vec<Identity> {
    let pods = workloads.pods();
    pods.map(|(uid, pod)| (pod.namespace.clone(), pod.name.clone(), uid.to_owned())).collect()
}
