//! Removes possible secrets from the facts of a node: the one place that does, before anything is computed for a page and
//! before a snapshot, a recording or a page stores them. Pure.
//!
//! Probes lose their commands, queries and most headers ([`Pod::redact`](kq_k8s::pod::Pod::redact)), and containers
//! their variables. The same words are removed from what the kubelet and others wrote about the pod: an event quotes the
//! URL that did not answer, and the program that could not be started.

use crate::config_on_disk::{ConfigContent, ConfigOnDisk};
use crate::devices::DeviceFacts;
use crate::snapshot::Snapshot;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::Pod;
use kq_output::whole_words::{SHORTEST, replace_words};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What stands in the place of a secret.
const MARK: &str = "[withheld]";

impl Snapshot {
    /// Removes possible secrets. A second time changes nothing.
    pub fn redact(&mut self) {
        let pods = self.pods.found.iter_mut().flat_map(|found| &mut found.value.pods);
        let mut words: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for loaded in pods {
            let known = redact_pod(&mut loaded.pod);
            if !known.is_empty() {
                let metadata = &loaded.pod.metadata;
                let pod = (metadata.namespace.clone(), metadata.name.clone());
                words.entry(pod).or_default().extend(known);
            }
        }
        for event in self.events.found.iter_mut().flat_map(|found| &mut found.value) {
            let pod = (event.pod.namespace.clone(), event.pod.name.clone());
            redact_text(&mut event.message, words.get(&pod).map_or(&[], Vec::as_slice));
        }
        if let Some(config) = &mut self.kubelet_config.found {
            forget_secrets(Arc::make_mut(&mut config.value.value));
        }
        if let Some(config) = &mut self.kubelet_config_on_disk.found {
            config.value.redact();
        }
        self.devices.iter_mut().for_each(DeviceFacts::withhold);
    }
}

impl ConfigOnDisk {
    fn redact(&mut self) {
        let texts = self.file.iter_mut().chain(&mut self.drop_ins);
        texts.for_each(|text| text.content.redact());
    }
}

impl ConfigContent {
    /// Removes possible secrets, as [`Snapshot::redact`] does from the configuration of a node.
    pub fn redact(&mut self) {
        if let Self::Document { value, text, .. } = self {
            forget_secrets(Arc::make_mut(value));
            *text = None;
        }
    }
}

/// Removes possible secrets from the pods of a file, as [`Snapshot::redact`] does from those of a node.
pub fn redact_pods(pods: &mut [LoadedPod]) {
    for loaded in pods {
        redact_pod(&mut loaded.pod);
    }
}

/// Removes possible secrets, and returns the removed words that a message about the pod may quote.
fn redact_pod(pod: &mut Pod) -> Vec<String> {
    let removed = pod.redact();
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=');
    // Of `Bearer TOKEN` or `--password=WORD`, an answer may have the last word alone.
    let mut words: Vec<String> =
        removed.iter().flat_map(|text| text.split(is_end)).map(str::to_owned).collect();
    words.extend(removed);
    words.retain(|word| word.len() >= SHORTEST);
    // Whole texts come before their parts.
    words.sort_unstable_by(|left, right| right.len().cmp(&left.len()).then(left.cmp(right)));
    words.dedup();
    let conditions = pod.status.conditions.iter_mut().map(|condition| &mut condition.message);
    for message in conditions.chain([&mut pod.status.message]) {
        redact_text(message, &words);
    }
    pod.status.forget_messages_of_containers();
    words
}

/// Removes from a message the words of a pod's probes, the user and the query of every URL, and what a hook runs.
fn redact_text(text: &mut String, words: &[String]) {
    let runs: BTreeSet<&str> = runs(text).collect();
    // A word that stands in the text has only runs of letters that the text has too. A command may have a million words.
    let quoted = words.iter().filter(|word| word.len() <= text.len() && runs_of_all(word, &runs));
    let shown = replace_words(text, quoted.map(String::as_str), MARK);
    let shown = match without_hooks(&shown) {
        Some(without) => Cow::Owned(without),
        None => shown,
    };
    let shown = match without_queries(&shown) {
        Some(without) => Cow::Owned(without),
        None => shown,
    };
    if let Cow::Owned(shown) = shown {
        *text = shown;
    }
}

fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty())
}

/// Returns true for a word with letters or digits, all of which are among those of a text.
fn runs_of_all(word: &str, of_text: &BTreeSet<&str>) -> bool {
    let mut runs = runs(word).peekable();
    runs.peek().is_some() && runs.all(|run| of_text.contains(run))
}

/// Removes the command or the path of a lifecycle hook: `Exec lifecycle hook ([sh -c x]) for Container "c"`
/// (`pkg/kubelet/lifecycle/handlers.go`; older kubelets write it into the event).
fn without_hooks(text: &str) -> Option<String> {
    const BEGINS: &str = "lifecycle hook (";
    const ENDS: &str = ") for Container ";
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGINS) {
        let (before, hook) = rest.split_at(at + BEGINS.len());
        shown.extend([before, MARK]);
        rest = hook.find(ENDS).map_or("", |end| &hook[end..]);
    }
    if shown.is_empty() {
        return None;
    }
    // Its output follows in the same text.
    shown.push_str(rest.find(", message: ").map_or(rest, |end| &rest[..end]));
    Some(shown)
}

/// Removes the user of each URL, and the query of each URL and path; `None`: there is none.
fn without_queries(text: &str) -> Option<String> {
    if !text.contains(['?', '@']) {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\');
    let shown: String = text.split_inclusive(is_end).map(without_query).collect();
    (shown != text).then_some(shown)
}

/// Does so for one word, which may have the character that ends it.
fn without_query(word: &str) -> Cow<'_, str> {
    let end = word.char_indices().next_back();
    let (word, end) = match end {
        Some((at, c)) if c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\') => {
            word.split_at(at)
        }
        _ => (word, ""),
    };
    let authority = word.find("://").map(|at| at + 3);
    let is_place = authority.is_some() || word.trim_start_matches(['(', '[', '{']).starts_with('/');
    let query = word.find('?').filter(|at| is_place && at + 1 < word.len());
    let mut shown = match query {
        Some(at) => Cow::Owned(format!("{}?{MARK}", &word[..at])),
        None => Cow::Borrowed(word),
    };
    if let Some(begin) = authority {
        let length = shown[begin..].find(['/', '?', '#']).unwrap_or(shown.len() - begin);
        if let Some(at) = shown[begin..begin + length].rfind('@') {
            shown = Cow::Owned(format!("{}{MARK}{}", &shown[..begin], &shown[begin + at..]));
        }
    }
    match end {
        "" => shown,
        end => Cow::Owned(shown.into_owned() + end),
    }
}

/// Removes the URL and headers of static pods: both may contain a password.
pub fn forget_secrets(config: &mut Value) {
    if let Some(fields) = config.as_object_mut() {
        // In any case: a misspelt field has the same content.
        fields.retain(|field, _| !field.to_lowercase().starts_with("staticpodurl"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{PodEvent, PodReference};
    use crate::lookup::Lookup;
    use crate::snapshot::RecordedPods;
    use serde_json::json;

    #[test]
    fn messages_lose_queries_users_and_hooks() {
        for (text, expected) in [
            ("Back-off restarting", "Back-off restarting"),
            ("what? a@b", "what? a@b"),
            (
                "failed: Get \"http://10.0.0.9:8080/ready?key=k3y&b\": dial tcp",
                "failed: Get \"http://10.0.0.9:8080/ready?[withheld]\": dial tcp",
            ),
            (
                "see https://me:pw@host:1/a/b?c#d now",
                "see https://[withheld]@host:1/a/b?[withheld] now",
            ),
            ("see https://me@host", "see https://[withheld]@host"),
            ("mail to http://host/a@b", "mail to http://host/a@b"),
            ("body <a href=\"/login?token=x\">", "body <a href=\"/login?[withheld]\">"),
            ("is it http://host/?", "is it http://host/?"),
            (
                "Exec lifecycle hook ([sh -c x]) for Container \"c\" in Pod \"p\" failed - error: e, message: \"out\"",
                "Exec lifecycle hook ([withheld]) for Container \"c\" in Pod \"p\" failed - error: e",
            ),
            ("Exec lifecycle hook ([sh -c cut", "Exec lifecycle hook ([withheld]"),
            (
                "lifecycle hook (a) for Container x, lifecycle hook (b) for Container y",
                "lifecycle hook ([withheld]) for Container x, lifecycle hook ([withheld]) for Container y",
            ),
        ] {
            let mut shown = text.to_owned();
            redact_text(&mut shown, &[]);
            assert_eq!(shown, expected);
            redact_text(&mut shown, &[]);
            assert_eq!(shown, expected, "a second time");
        }
    }

    #[test]
    fn what_a_pod_withholds_is_not_in_its_events() {
        let pod = json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"containers": [{
            "name": "c", "env": [{"name": "PW", "value": "env-secret"}],
            "livenessProbe": {"exec": {"command": ["/opt/check-secret", "--password=arg-secret", "$(PW)"]}},
            "readinessProbe": {"httpGet": {"path": "/ready?key=query-secret", "port": 1, "httpHeaders": [
                {"name": "Authorization", "value": "Bearer header-secret"}, {"name": "Host", "value": "shop.host"}]}}
        }]}});
        let source = json!({"file": "f", "document": 1, "namespaceDefaulted": false, "nameGenerated": false});
        let loaded: LoadedPod =
            serde_json::from_value(json!({"pod": pod, "source": source})).expect("a pod");
        let event = |name: &str| {
            PodEvent {
            pod: PodReference { namespace: "shop".to_owned(), name: name.to_owned(), uid: String::new() },
            message: "exec: \"/opt/check-secret\": env-secret arg-secret query-secret header-secret shop.host \
                      my-header-secrets"
                .to_owned(),
            ..PodEvent::default()
        }
        };
        let list = RecordedPods { pods: vec![loaded], ..RecordedPods::default() };
        let mut snapshot = Snapshot {
            pods: Lookup::found("files", list),
            events: Lookup::found("API server", vec![event("web"), event("db")]),
            ..Snapshot::default()
        };
        snapshot.redact();
        let events = snapshot.events.value().expect("events");
        let expected = "exec: \"[withheld]\": [withheld] [withheld] [withheld] [withheld] shop.host my-header-secrets";
        assert_eq!(events[0].message, expected);
        assert_eq!(events[1].message, event("db").message, "of another pod");
        let once = snapshot.clone();
        snapshot.redact();
        assert_eq!(snapshot, once);
        let stored = serde_json::to_string(&snapshot.pods).expect("it can be written");
        assert!(!stored.contains("-secret"), "{stored}");
    }

    #[test]
    fn configuration_has_no_source_of_static_pods() {
        let mut content = ConfigContent::Document {
            value:
                json!({"staticPodURL": "http://me:pw@h", "StaticPodURLHeader": {}, "maxPods": 1})
                    .into(),
            text: Some("staticPodURL: http://me:pw@h".to_owned()),
            duplicates: Vec::new(),
        };
        content.redact();
        assert_eq!(content, ConfigContent::document(json!({"maxPods": 1})));
    }
}
