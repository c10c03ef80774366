//! Pods that were read twice, for example from two files: a kubelet has one pod of a UID.

use crate::snapshot::RecordedPods;
use crate::workloads::effective_uid;
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::manifest::LoadedPod;
use kq_k8s::priority::is_mirror_pod;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

impl RecordedPods {
    /// Keeps one pod of each UID, the last one that was read, in the place of the first. Returns what to
    /// warn of.
    ///
    /// The kubelet keeps its pods in a map by UID (`pkg/kubelet/pod/pod_manager.go`), where what comes
    /// later replaces what is there. The mirror of a static pod has the UID of that one, and gives it no
    /// more than its status, where it has none itself: the kubelet counts the static one. Pods without
    /// a UID are the same if they have the same name: the API server has no two. The pods of
    /// templates have no names yet, and stay.
    pub fn keep_one_of_a_uid(&mut self) -> Vec<Warning> {
        let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut kept: Vec<LoadedPod> = Vec::with_capacity(self.pods.len());
        let mut twice: Vec<String> = Vec::new();
        let mut warnings: Vec<Warning> = Vec::new();
        for loaded in self.pods.drain(..) {
            let (uid, name) = (effective_uid(&loaded.pod), loaded.pod.metadata.qualified_name());
            let key = match uid {
                "" if loaded.source.name_generated || loaded.pod.metadata.name.is_empty() => {
                    kept.push(loaded);
                    continue;
                }
                "" => (String::new(), name.clone()),
                uid => (uid.to_owned(), String::new()),
            };
            let place = match places.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(kept.len());
                    kept.push(loaded);
                    continue;
                }
                Entry::Occupied(taken) => *taken.get(),
            };
            let Some(before) = kept.get_mut(place) else { continue };
            let is_mirror_of_kept = is_mirror_pod(&loaded.pod) && !is_mirror_pod(&before.pod);
            match before.pod.metadata.qualified_name() {
                same if same == name => twice.push(name),
                other => {
                    let taken = match is_mirror_of_kept {
                        true => format!("{other}, which is static, is taken"),
                        false => format!("{name}, which was read last, is taken"),
                    };
                    let text = format!(
                        "{other} and {name} have one UID, {uid}: the kubelet has one pod of a UID; {taken}"
                    );
                    warnings.push(Warning::new(WarningCode::DuplicatePod, text).about(&name));
                }
            }
            if !is_mirror_of_kept {
                *before = loaded;
            } else if before.pod.status.phase.is_empty() {
                before.pod.status = loaded.pod.into_inner().status;
            }
        }
        self.pods = kept;
        twice.sort();
        twice.dedup();
        if let [first, others @ ..] = twice.as_slice() {
            let is_one = others.is_empty();
            let others = match others.len() {
                0 => " is".to_owned(),
                1 => " and one other are".to_owned(),
                count => format!(" and {count} others are"),
            };
            let text = format!("{first}{others} listed more than once: the last one counts, once");
            let warning = Warning::new(WarningCode::DuplicatePod, text);
            warnings.push(if is_one { warning.about(first) } else { warning });
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use kq_k8s::manifest::load;

    /// Name, UID, UID of the static pod, phase.
    type Row<'r> = (&'r str, &'r str, Option<&'r str>, &'r str);

    fn read(rows: &[Row<'_>]) -> RecordedPods {
        let pod = |(name, uid, mirror, phase): &Row<'_>| {
            let pod = objects::pod(name).uid(uid).phase(phase);
            match mirror {
                Some(mirror) => pod.config("mirror", mirror),
                None => pod,
            }
        };
        let pods = objects::loaded(rows.iter().map(pod));
        RecordedPods { pods, ..RecordedPods::default() }
    }

    #[test]
    fn one_pod_of_a_uid_is_kept() {
        type Case<'a> = (&'a str, &'a [Row<'a>], &'a [&'a str], &'a [&'a str]);
        let rows: &[Case<'_>] = &[
            (
                "each its own",
                &[("a", "1", None, "Running"), ("a", "2", None, "Failed")],
                &["a Running", "a Failed"],
                &[],
            ),
            (
                "the last in the place of the first",
                &[("a", "1", None, "Pending"), ("b", "2", None, ""), ("a", "1", None, "Running")],
                &["a Running", "b "],
                &["default/a is listed more than once: the last one counts, once"],
            ),
            (
                "many",
                &[
                    ("b", "2", None, ""),
                    ("b", "2", None, ""),
                    ("b", "2", None, ""),
                    ("a", "1", None, ""),
                    ("a", "1", None, ""),
                ],
                &["b ", "a "],
                &["default/a and one other are listed more than once: the last one counts, once"],
            ),
            (
                "two names",
                &[("a", "1", None, ""), ("b", "1", None, "")],
                &["b "],
                &["default/a and default/b have one UID, 1: the kubelet has one pod of a UID; \
                   default/b, which was read last, is taken"],
            ),
            (
                "a static pod and its mirror",
                &[("a", "1", None, "Running"), ("a", "m", Some("1"), "Failed")],
                &["a Running"],
                &["default/a is listed more than once: the last one counts, once"],
            ),
            (
                "a manifest and the mirror of its pod",
                &[("a", "1", None, ""), ("a", "m", Some("1"), "Failed")],
                &["a Failed"],
                &["default/a is listed more than once: the last one counts, once"],
            ),
            (
                "a mirror before its static pod",
                &[("a", "m", Some("1"), "Failed"), ("a", "1", None, "Running")],
                &["a Running"],
                &["default/a is listed more than once: the last one counts, once"],
            ),
            (
                "no UID",
                &[("a", "", None, ""), ("b", "", None, ""), ("a", "", None, "Running")],
                &["a Running", "b "],
                &["default/a is listed more than once: the last one counts, once"],
            ),
        ];
        for (name, given, kept, warnings) in rows {
            let mut recorded = read(given);
            assert_eq!(recorded.keep_one_of_a_uid(), *warnings, "{name}");
            let left = recorded.pods.iter().map(|it| &it.pod);
            let left: Vec<String> =
                left.map(|it| format!("{} {}", it.metadata.name, it.status.phase)).collect();
            assert_eq!(left, *kept, "{name}");
        }
    }

    #[test]
    fn pods_of_templates_have_no_names_yet() {
        let job = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":
            {"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}}}}"#;
        let mut pods = load("job.json", job.as_bytes()).pods;
        pods.extend(pods.clone());
        let mut recorded = RecordedPods { pods, ..RecordedPods::default() };
        assert!(recorded.keep_one_of_a_uid().is_empty());
        assert_eq!(recorded.pods.len(), 2);
    }
}
