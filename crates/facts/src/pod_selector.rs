//! The pods that an answer is about.

use super::workloads::effective_uid;
use anyhow::anyhow;
use kq_answer::{Failure, Missing, MissingFact};
use kq_k8s::label_selector::LabelSelector;
use kq_k8s::nearest::nearest;
use kq_k8s::pod::Pod;
use kq_output::units::first_few;
use std::collections::BTreeSet;
use std::fmt;

/// kubectl's names of the kind pod, before a name.
const KINDS: [&str; 3] = ["pod", "pods", "po"];

/// A pod as a person names it: `NAME`, `NAMESPACE/NAME` or a UID; `pod/NAME` as kubectl writes it. Or all
/// pods of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSelector {
    namespace: Option<String>,
    /// `None`: all of the namespace.
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected NAME, NAMESPACE/NAME or a UID")]
pub struct NoPodName;

impl PodSelector {
    /// Returns the selector for a text.
    pub fn new(text: &str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => {
                Self { namespace: Some(namespace.to_owned()), name: Some(name.to_owned()) }
            }
            None => Self { namespace: None, name: Some(text.to_owned()) },
        }
    }

    /// Reads the name of one pod.
    /// Fails for what no pod can be called: an empty name, or more than one `/`.
    pub fn parse(text: &str) -> Result<Self, NoPodName> {
        let has_name = text.split('/').all(|part| !part.trim().is_empty());
        let is_one = has_name && text.split('/').count() <= 2;
        is_one.then(|| Self::new(text)).ok_or(NoPodName)
    }

    pub fn of_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), name: None }
    }

    /// Keeps to a namespace; `None`: another one is named already.
    pub fn within(self, namespace: &str) -> Option<Self> {
        let same = match &self.namespace {
            Some(named) => named == namespace || KINDS.contains(&named.as_str()),
            None => true,
        };
        same.then(|| Self { namespace: Some(namespace.to_owned()), ..self })
    }

    /// Returns the namespace that is named; what may be the kind in its place is none.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|namespace| !KINDS.contains(namespace))
    }

    /// Returns the name, which may be a UID.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns true if it selects all pods of a namespace.
    pub fn is_namespace(&self) -> bool {
        self.name.is_none()
    }

    /// Returns true if it selects a pod.
    pub fn is_of(&self, pod: &Pod) -> bool {
        self.matches(&pod.metadata.namespace, &pod.metadata.name, effective_uid(pod))
    }

    /// Returns true if it selects a pod. Hexadecimal digits of a UID may be in upper case.
    pub fn matches(&self, namespace: &str, name: &str, uid: &str) -> bool {
        let Some(selected) = &self.name else {
            return self.namespace.as_deref() == Some(namespace);
        };
        match &self.namespace {
            Some(of) if of == namespace => selected == name,
            // A namespace may have that name as well.
            Some(of) if KINDS.contains(&of.as_str()) => selected == name,
            Some(_) => false,
            None => selected == name || (!uid.is_empty() && selected.eq_ignore_ascii_case(uid)),
        }
    }
}

/// Returns true if a name has the form of a UID.
pub fn is_uid(name: &str) -> bool {
    name.len() == 36 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Returns the failure for a name that several pods have: their namespaces tell them apart, else their UIDs.
pub fn several_pods<'p>(name: &str, pods: impl IntoIterator<Item = &'p Pod>) -> Failure {
    let pods: Vec<&Pod> = pods.into_iter().collect();
    let listed = |all: Vec<String>| first_few(NAMED_PODS, all);
    let full = |pod: &&Pod| pod.metadata.qualified_name();
    let names: BTreeSet<String> = pods.iter().map(full).collect();
    let (differ, count) = (names.len() > 1, pods.len());
    let hint = match differ {
        true => "use NAMESPACE/NAME".to_owned(),
        false => {
            let uids = pods.iter().map(|pod| effective_uid(pod).to_owned()).collect();
            format!("use the UID: {}", listed(uids))
        }
    };
    let which =
        if differ { format!(": {}", listed(names.into_iter().collect())) } else { String::new() };
    Failure::usage(anyhow!("{name} means {count} pods{which}")).hint(hint)
}

/// Returns the pod, as NAMESPACE/NAME, that was probably meant by a name that none has: one of that name in
/// another namespace, one whose name goes on where this one ends, as a workload's pods do, or one that is
/// spelt alike.
pub fn nearest_pod<'p>(query: &str, pods: impl IntoIterator<Item = &'p Pod>) -> Option<String> {
    let names = |pod: &'p Pod| (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
    nearest_pod_name(query, pods.into_iter().map(names))
}

/// Returns the same of pods that are known by namespace and name alone.
pub fn nearest_pod_name<'p>(
    query: &str,
    pods: impl IntoIterator<Item = (&'p str, &'p str)>,
) -> Option<String> {
    let query = query.rsplit('/').next().unwrap_or(query);
    let pods: Vec<(&str, &str)> = pods.into_iter().collect();
    let names = || pods.iter().map(|(_, name)| *name);
    let goes_on = |name: &&str| {
        !query.is_empty() && name.strip_prefix(query).is_some_and(|rest| rest.starts_with('-'))
    };
    let found = names()
        .find(|name| *name == query)
        .or_else(|| names().find(goes_on))
        .or_else(|| nearest(query, names()))?;
    let (namespace, _) = pods.iter().find(|(_, name)| *name == found)?;
    Some(format!("{namespace}/{found}"))
}

impl fmt::Display for PodSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("*");
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{name}"),
            None => f.write_str(name),
        }
    }
}

/// The number of pods that a missing fact names.
const NAMED_PODS: usize = 5;

/// The selected pods; none selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub pods: Vec<PodSelector>,
    /// Pods that are left out because their labels are unknown, by name or UID.
    pub unlabelled: Vec<String>,
}

/// Namespace, name and UID of a pod; what is unknown is empty.
pub type PodIdentity<'p> = (&'p str, &'p str, &'p str);

impl Selection {
    /// Returns the labels that the selection would have needed.
    pub fn missing(&self) -> Option<Missing> {
        let pods = &self.unlabelled;
        let named = pods.iter().take(NAMED_PODS).map(String::as_str);
        let named = named.collect::<Vec<_>>().join(", ");
        let text = match pods.len() {
            0 => return None,
            1 => format!("--selector leaves out {named}: its labels are unknown"),
            count if count <= NAMED_PODS => {
                format!("--selector leaves out {named}: their labels are unknown")
            }
            count => format!(
                "--selector leaves out {count} pods, whose labels are unknown: {named}, ..."
            ),
        };
        let missing = Missing::new(MissingFact::PodLabels, text).with_flags(["--pods"]);
        Some(match pods.as_slice() {
            [pod] => missing.about(pod),
            _ => missing,
        })
    }

    /// Returns the pods that are named.
    pub fn of(pods: Vec<PodSelector>) -> Self {
        Self { pods, unlabelled: Vec::new() }
    }

    /// Returns the pods with labels. Of `others`, the identity alone is known. Unlike in other selections, no pod
    /// means that none has the labels.
    pub fn labelled<'p>(
        labels: &LabelSelector,
        pods: impl Iterator<Item = &'p Pod>,
        others: impl Iterator<Item = PodIdentity<'p>>,
    ) -> Self {
        let mut selection = Self::default();
        let mut specified = BTreeSet::new();
        for pod in pods {
            let metadata = &pod.metadata;
            let (namespace, name) = (metadata.namespace.as_str(), &*pod.display_name());
            specified.extend([name_of((namespace, name, "")), effective_uid(pod).to_owned()]);
            match metadata.labels.all().map(|known| labels.matches(known)) {
                None => selection.unlabelled.push(name_of((namespace, name, ""))),
                Some(true) => selection.pods.push(PodSelector {
                    namespace: Some(namespace.to_owned()),
                    name: Some(name.to_owned()),
                }),
                Some(false) => {}
            }
        }
        let is_specified = |(namespace, name, uid): &PodIdentity<'_>| {
            specified.contains(&name_of((namespace, name, "")))
                || (!uid.is_empty() && specified.contains(*uid))
        };
        selection.unlabelled.extend(others.filter(|it| !is_specified(it)).map(name_of));
        selection.unlabelled.sort_unstable();
        selection.unlabelled.dedup();
        selection
    }

    /// Returns true if it selects every pod, and the node with them.
    pub fn is_all(&self) -> bool {
        self.pods.is_empty()
    }

    /// Returns true if it selects a pod.
    pub fn has(&self, namespace: &str, name: &str, uid: &str) -> bool {
        self.is_all() || self.pods.iter().any(|pod| pod.matches(namespace, name, uid))
    }

    /// Returns the selectors that mean none of these pods.
    pub fn unmatched<'s, 'p>(
        &'s self,
        pods: impl Iterator<Item = (&'p str, &'p str, &'p str)> + Clone,
    ) -> impl Iterator<Item = &'s PodSelector> {
        self.pods.iter().filter(move |selector| {
            !pods.clone().any(|(namespace, name, uid)| selector.matches(namespace, name, uid))
        })
    }
}

/// Returns NAMESPACE/NAME, or the UID where they are unknown.
fn name_of((namespace, name, uid): PodIdentity<'_>) -> String {
    match name {
        "" => uid.to_owned(),
        name => format!("{namespace}/{name}"),
    }
}

/// Returns true if an argument names a file, by its form alone.
pub fn is_file(text: &str) -> bool {
    let starts = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let ends = [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
    text == "-" || starts || ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_is_not_there_was_another_one() {
        let pod = |(namespace, name): (&str, &str)| {
            let mut pod = Pod::default();
            (pod.metadata.namespace, pod.metadata.name) = (namespace.to_owned(), name.to_owned());
            pod
        };
        let names = [("shop", "checkout-6d5f7"), ("shop", "cart-0"), ("ml", "trainer-0")];
        let pods = names.map(pod);
        for (query, expected) in [
            ("default/cart-0", Some("shop/cart-0")),
            ("checkout", Some("shop/checkout-6d5f7")),
            ("deployment/checkout", Some("shop/checkout-6d5f7")),
            ("ml/trainr-0", Some("ml/trainer-0")),
            ("cart-1", Some("shop/cart-0")),
            ("default/nope", None),
            ("", None),
        ] {
            assert_eq!(nearest_pod(query, &pods).as_deref(), expected, "{query}");
        }
    }

    #[test]
    fn pods_without_known_labels_are_neither_kept_nor_forgotten() {
        let mut pods = Vec::new();
        for (name, app) in [("web-0", "web"), ("db-0", "db"), ("web-1", "web")] {
            let metadata = serde_json::json!({"name": name, "labels": {"app": app}});
            let pod = serde_json::json!({"metadata": metadata});
            let mut pod: Pod = serde_json::from_value(pod).expect("a pod");
            pod.metadata.namespace = "shop".to_owned();
            pod.metadata.uid = format!("uid-{name}");
            pods.push(pod);
        }
        pods[2].metadata.labels.redact();
        let others = [
            ("shop", "web-0", ""),
            ("", "", "uid-db-0"),
            ("shop", "new", "uid-new"),
            ("", "", "uid-nobody"),
        ];
        let labels = LabelSelector::parse("app=web").expect("a selector");
        let selection = Selection::labelled(&labels, pods.iter(), others.into_iter());
        assert_eq!(selection.pods, [PodSelector::new("shop/web-0")]);
        assert_eq!(selection.unlabelled, ["shop/new", "shop/web-1", "uid-nobody"]);
    }

    #[test]
    fn pods_are_meant_by_name_namespace_or_uid() {
        let pod = ("shop", "web", "11-22");
        for (text, expected) in [
            ("web", true),
            ("shop/web", true),
            ("other/web", false),
            ("pod/web", true),
            ("pods/db", false),
            ("11-22", true),
            ("shop", false),
            ("", false),
        ] {
            let selector = PodSelector::new(text);
            assert_eq!(selector.matches(pod.0, pod.1, pod.2), expected, "{text}");
            assert_eq!(selector.to_string(), text);
        }
        let selection = Selection::of(vec![PodSelector::new("web"), PodSelector::new("db")]);
        let missing: Vec<String> =
            selection.unmatched([pod].into_iter()).map(ToString::to_string).collect();
        assert_eq!(missing, ["db"]);
        for (text, namespace, expected) in [
            ("web", "shop", Some(true)),
            ("web", "other", Some(false)),
            ("pod/web", "shop", Some(true)),
            ("shop/web", "shop", Some(true)),
            ("shop/web", "other", None),
        ] {
            let within = PodSelector::new(text).within(namespace);
            let found = within.map(|selector| selector.matches(pod.0, pod.1, pod.2));
            assert_eq!(found, expected, "{text} in {namespace}");
        }
        for text in ["", " ", "/", "a/", "/a", "a/b/c"] {
            assert_eq!(PodSelector::parse(text), Err(NoPodName), "{text:?}");
        }
        assert_eq!(PodSelector::parse("shop/web"), Ok(PodSelector::new("shop/web")));
        assert!(PodSelector::new("AB-cd").matches("shop", "web", "ab-CD"));
        assert!(PodSelector::of_namespace("shop").matches(pod.0, pod.1, pod.2));
        assert!(!PodSelector::of_namespace("other").matches(pod.0, pod.1, pod.2));
        assert!(Selection::default().has("a", "b", ""));
    }
}
