//! The pods of a run that may exist: what the guard process of the run keeps in mind.

use crate::k8s::validation::is_pod_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A step of a pod's life, as the run reports it to its guard process, one in a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase")]
pub enum PodStep {
    /// It is about to be created.
    Planned { name: String },
    /// The API server created it.
    Created { name: String, uid: String },
    /// It does not exist, or the run has named it as one that may be left behind.
    Closed { name: String },
}

/// The pods that may exist, each with its UID if known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenPods(BTreeMap<String, Option<String>>);

impl PodStep {
    /// Returns the line.
    pub fn to_line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{json}\n")
    }
}

impl OpenPods {
    /// Records a line. The rest of a line that was cut, and a name that no pod can have, change nothing.
    pub fn record(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(PodStep::Planned { name }) if !is_pod_name(&name) => {}
            Ok(PodStep::Planned { name }) => drop(self.0.insert(name, None)),
            Ok(PodStep::Created { name, uid }) => {
                if let Some(known) = self.0.get_mut(&name) {
                    *known = Some(uid);
                }
            }
            Ok(PodStep::Closed { name }) => drop(self.0.remove(&name)),
            Err(_) => {}
        }
    }

    /// Returns the names, each with the UID if known.
    pub fn into_pods(self) -> Vec<(String, Option<String>)> {
        self.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_open_from_its_plan_until_it_is_closed() {
        let name = |name: &str| name.to_owned();
        let mut open = OpenPods::default();
        for step in [
            PodStep::Planned { name: name("../a") },
            PodStep::Planned { name: name("a") },
            PodStep::Planned { name: name("b") },
            PodStep::Created { name: name("b"), uid: "u\n1".to_owned() },
            PodStep::Planned { name: name("c") },
            PodStep::Closed { name: name("c") },
        ] {
            let line = step.to_line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            open.record(line.trim_end().as_bytes());
        }
        let cut = PodStep::Closed { name: name("a") }.to_line();
        open.record(&cut.as_bytes()[..20]);
        open.record(b"");
        let expected = [(name("a"), None), (name("b"), Some("u\n1".to_owned()))];
        assert_eq!(open.into_pods(), expected);
    }
}
