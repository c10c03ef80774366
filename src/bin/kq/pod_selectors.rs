//! What a command is asked about: pods by name, and files with pods.

use crate::exit::Failure;
use crate::pod_args::NamespaceArgs;
use anyhow::anyhow;
use kq::facts::pod_selector::{PodSelector, Selection, is_file, nearest_pod_name};
use kq::facts::workloads::effective_uid;
use kq::k8s::manifest::LoadedPod;

/// For how many names that no pod has near ones are looked for.
const MOST_HINTS: usize = 3;

/// The arguments, told apart.
#[derive(Clone, Debug, Default)]
pub struct PodSelectors {
    /// Names of pods.
    pub pods: Vec<String>,
    /// Files; `-` is standard input.
    pub files: Vec<String>,
    /// Without names: the namespace of the pods.
    pub namespace: Option<String>,
}

impl PodSelectors {
    /// Tells names and files apart by their form alone: a file is `-`, begins like a path or ends in
    /// `.yaml`, `.yml` or `.json`.
    pub fn of(arguments: &[String]) -> Self {
        let (files, pods) = arguments.iter().cloned().partition(|text: &String| is_file(text));
        Self { pods, files, namespace: None }
    }

    /// Keeps to a namespace, where no pod is named.
    pub fn within(self, namespace: &NamespaceArgs) -> Self {
        let is_named = !self.pods.is_empty() || !self.files.is_empty();
        let namespace = namespace.name().filter(|_| !is_named).map(str::to_owned);
        Self { namespace, ..self }
    }

    /// Returns which pods of a node are meant: those that are named, and those of the files. `unknown` is the
    /// reason why not all pods of the node are known.
    ///
    /// # Errors
    ///
    /// Fails for a name that no pod has.
    pub fn selection(
        &self,
        pods: &[LoadedPod],
        others: &[(String, String, String)],
        unknown: Option<&str>,
    ) -> Result<Selection, Failure> {
        let mut selection =
            Selection(self.pods.iter().map(|name| PodSelector::new(name)).collect());
        selection.0.extend(self.namespace.as_deref().map(PodSelector::of_namespace));
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
        selection.0.extend(from_files.map(|loaded| {
            let metadata = &loaded.pod.metadata;
            PodSelector::new(&format!("{}/{}", metadata.namespace, metadata.name))
        }));
        Ok(selection)
    }
}
