//! Which pods an answer is about.

use std::fmt;

/// A pod as a person names it: `NAME`, `NAMESPACE/NAME` or a UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSelector {
    namespace: Option<String>,
    name: String,
}

impl PodSelector {
    /// Returns the selector for a text.
    pub fn new(text: &str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => {
                Self { namespace: Some(namespace.to_owned()), name: name.to_owned() }
            }
            None => Self { namespace: None, name: text.to_owned() },
        }
    }

    /// Tells whether a pod is meant.
    pub fn matches(&self, namespace: &str, name: &str, uid: &str) -> bool {
        match &self.namespace {
            Some(wanted) => wanted == namespace && self.name == name,
            None => self.name == name || (!uid.is_empty() && self.name == uid),
        }
    }
}

impl fmt::Display for PodSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The pods that were asked for; none is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(pub Vec<PodSelector>);

impl Selection {
    /// Tells whether every pod is meant, and the node with them.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether a pod is meant.
    pub fn has(&self, namespace: &str, name: &str, uid: &str) -> bool {
        self.is_all() || self.0.iter().any(|pod| pod.matches(namespace, name, uid))
    }

    /// Returns the selectors that mean none of these pods.
    pub fn unmatched<'s, 'p>(
        &'s self,
        pods: impl Iterator<Item = (&'p str, &'p str, &'p str)> + Clone,
    ) -> impl Iterator<Item = &'s PodSelector> {
        self.0.iter().filter(move |selector| {
            !pods.clone().any(|(namespace, name, uid)| selector.matches(namespace, name, uid))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_meant_by_name_namespace_or_uid() {
        let pod = ("shop", "web", "11-22");
        for (text, expected) in [
            ("web", true),
            ("shop/web", true),
            ("other/web", false),
            ("11-22", true),
            ("shop", false),
            ("", false),
        ] {
            let selector = PodSelector::new(text);
            assert_eq!(selector.matches(pod.0, pod.1, pod.2), expected, "{text}");
            assert_eq!(selector.to_string(), text);
        }
        let selection = Selection(vec![PodSelector::new("web"), PodSelector::new("db")]);
        let missing: Vec<String> =
            selection.unmatched([pod].into_iter()).map(ToString::to_string).collect();
        assert_eq!(missing, ["db"]);
        assert!(Selection::default().has("a", "b", ""));
    }
}
