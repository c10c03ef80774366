//! The ID of a container as the kubelet reads it back from a status.
//!
//! `ParseContainerID` and `ContainerID`, `pkg/kubelet/container/runtime.go`.

use serde::{Serialize, Serializer};
use std::fmt;

/// A runtime and an id in it; both empty for what is no id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerId {
    runtime: String,
    id: String,
}

impl ContainerId {
    /// Reads `RUNTIME://ID`; quotes around it are dropped, and anything else is the empty id.
    pub fn parse(text: &str) -> Self {
        let mut parts = text.trim_matches('"').split("://");
        match (parts.next(), parts.next(), parts.next()) {
            (Some(runtime), Some(id), None) => {
                Self { runtime: runtime.to_owned(), id: id.to_owned() }
            }
            _ => Self::default(),
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.runtime.is_empty() && self.id.is_empty()
    }
}

impl fmt::Display for ContainerId {
    /// The empty id is `://`, as in the kubelet: a status that says just that is not seen as a change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.runtime, self.id)
    }
}

crate::schema::schema_as!(ContainerId, String);

impl Serialize for ContainerId {
    /// The empty id is the empty text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() { serializer.serialize_str("") } else { serializer.collect_str(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_the_kubelet_reads_them() {
        for (name, text, shown, empty) in [
            ("usual", "containerd://c1", "containerd://c1", false),
            ("quoted", "\"containerd://c1\"", "containerd://c1", false),
            ("no runtime", "://c1", "://c1", false),
            ("no id", "containerd://", "containerd://", false),
            ("neither", "://", "://", true),
            ("plain", "c1", "://", true),
            ("nothing", "", "://", true),
            ("two marks", "a://b://c", "://", true),
        ] {
            let id = ContainerId::parse(text);
            assert_eq!((id.to_string().as_str(), id.is_empty()), (shown, empty), "{name}");
        }
    }
}
