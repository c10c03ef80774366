//! What people type before they know the commands, and the command that answers.

/// Words, and the hint. `POD`, `FILE`, `FIELD=VALUE` and `VERSION` stand for any word, and are put into the hint.
const GUESSES: &[(&str, &str)] = &[
    ("pods", "kq cgroup show"),
    ("ps", "kq cgroup show"),
    ("ls", "kq cgroup show"),
    ("get pods", "kq cgroup show"),
    ("get nodes", "kq fleet"),
    ("get", "kq cgroup show lists the pods, kq gc images the images"),
    ("images", "kq gc images"),
    ("image", "kq gc images"),
    ("img", "kq gc images"),
    ("df", "kq gc policy"),
    ("describe node", "kq doctor"),
    ("describe pod POD", "kq doctor POD"),
    ("describe POD", "kq doctor POD"),
    ("describe", "kq doctor"),
    ("status POD", "kq doctor POD"),
    ("status", "kq doctor"),
    ("health", "kq doctor"),
    ("check", "kq doctor"),
    ("diagnose", "kq doctor"),
    ("node", "kq doctor"),
    ("explain POD", "kq why POD"),
    ("events", "kq why POD, with the events of the pod"),
    ("error", "kq explain MESSAGE"),
    ("message", "kq explain MESSAGE"),
    ("log", "kq explain - (journalctl -u kubelet); kq doctor says what is wrong on the node"),
    ("journal", "kq explain - (journalctl -u kubelet); kq doctor says what is wrong on the node"),
    ("logs", "kubectl logs or crictl logs; kq does not read the logs of containers"),
    ("exec", "kubectl exec or crictl exec; kq runs nothing in containers"),
    ("cordon", "kubectl cordon; kq fleet apply --cordon does it for many nodes"),
    ("upgrade VERSION", "kq what-if kubelet-version VERSION"),
    ("upgrade", "kq what-if kubelet-version VERSION"),
    ("version VERSION", "kq what-if kubelet-version VERSION"),
    ("what-if upgrade VERSION", "kq what-if kubelet-version VERSION"),
    ("what-if version VERSION", "kq what-if kubelet-version VERSION"),
    ("restart", "kq what-if kubelet-restart"),
    ("what-if restart", "kq what-if kubelet-restart"),
    ("drain", "kq what-if reboot; kubectl drain moves the pods"),
    ("what-if drain", "kq what-if reboot"),
    ("reboot", "kq what-if reboot"),
    ("delete POD", "kq what-if remove POD"),
    ("kill POD", "kq what-if remove POD"),
    ("what-if delete POD", "kq what-if remove POD"),
    ("what-if pod FILE", "kq what-if add FILE"),
    ("what-if memory AMOUNT", "kq what-if memory-available AMOUNT"),
    ("what-if FIELD=VALUE", "kq what-if set FIELD=VALUE"),
    ("resize POD RESOURCE=AMOUNT", "kq what-if resize POD RESOURCE=AMOUNT"),
    ("resize", "kq what-if resize POD cpu=500m"),
    ("simulate", "kq what-if"),
    ("gates", "kq what-if feature-gates"),
    ("flags", "kq what-if flags"),
    ("oom", "kq doctor names who was killed; kq cgroup throttling has the pressure"),
    ("throttling", "kq cgroup throttling"),
    ("throttle", "kq cgroup throttling"),
    ("cpu", "kq top"),
    ("stats", "kq top"),
    ("usage", "kq top"),
    ("gpu", "kq devices list"),
    ("device", "kq devices list"),
    ("numa", "kq devices list, and kq admit explain FILE for a new pod"),
    ("topology", "kq admit explain FILE"),
    ("plan FILE", "kq cgroup plan FILE"),
    ("plan", "kq cgroup plan"),
    ("diff", "kq cgroup diff"),
    ("shares", "kq cgroup shares"),
    ("limits POD", "kq cgroup explain POD"),
    ("qos FILE", "kq cgroup plan FILE"),
    ("config", "kq gc policy, and kq what-if config FILE for another one"),
    ("reserved", "kq allocatable"),
    ("capacity", "kq allocatable, and kq devices capacity"),
    ("prune", "kq gc dry-run"),
    ("clean", "kq gc dry-run"),
    ("cleanup", "kq gc dry-run"),
    ("liveness POD", "kq probe plan POD"),
    ("readiness POD", "kq probe plan POD"),
    ("probe POD", "kq probe run POD"),
    ("probes", "kq probe plan"),
    ("eviction", "kq evict rank"),
    ("evict list", "kq evict rank"),
    ("evict show", "kq evict rank"),
    ("evict why POD", "kq why POD"),
    ("evict memory", "kq evict rank --signal memory"),
    ("evict disk", "kq evict rank --signal disk"),
    ("evict pid", "kq evict rank --signal pid"),
    ("evict rank memory", "kq evict rank --signal memory"),
    ("evict rank disk", "kq evict rank --signal disk"),
    ("evict rank pid", "kq evict rank --signal pid"),
    ("evict rank POD", "kq why POD; kq evict rank has the place of each pod"),
    ("evict", "kq evict rank"),
    ("probe explain", "kq probe plan"),
    ("probe list", "kq probe plan"),
    ("preempt list", "kq preempt explain FILE --static, for a pod that is to come"),
    ("cgroup list", "kq cgroup show"),
    ("gc list", "kq gc images"),
    ("devices show", "kq devices list"),
    ("what-if kubelet-version=VERSION", "kq what-if kubelet-version VERSION"),
    ("pressure", "kq evict rank"),
    ("admit FILE", "kq admit explain FILE"),
    ("fits FILE", "kq admit explain FILE"),
    ("schedule FILE", "the scheduler decides that; kq admit explain FILE asks this node's kubelet"),
    ("preempt FILE", "kq preempt explain FILE"),
    ("lint FILE", "kq probe lint FILE, kq preempt lint FILE, kq gc lint"),
    ("record", "kq gc record, and kq top --record"),
    ("nodes", "kq fleet"),
    ("cluster", "kq fleet"),
    ("docs", "man kq, or kq --help"),
    ("schema doctor", "kq schema NodeChecks"),
];

/// Returns the hint for words that are no command; flags are left out of `words`. `taken`: the commands of a group, which are
/// no names.
pub fn hint(words: &[&str], taken: &[&str]) -> Option<String> {
    let matching = GUESSES.iter().filter_map(|(pattern, hint)| {
        let pattern: Vec<&str> = pattern.split(' ').collect();
        let found = fill(&pattern, words, hint, taken)?;
        let exact = pattern.iter().filter(|word| !is_placeholder(word)).count();
        Some((exact, pattern.len(), found))
    });
    matching.max_by_key(|(exact, length, _)| (*exact, *length)).map(|(.., found)| found)
}

/// Puts the words into the hint; `None`: they do not begin like the pattern.
fn fill(pattern: &[&str], words: &[&str], hint: &str, taken: &[&str]) -> Option<String> {
    if words.len() < pattern.len() {
        return None;
    }
    let mut hint = hint.to_owned();
    for (pattern, word) in pattern.iter().zip(words) {
        match pattern.split_once('=') {
            _ if pattern == word => {}
            // A field of that name, with any value.
            Some((field, value)) if !is_placeholder(field) => {
                let given = word.split_once('=').filter(|(name, _)| *name == field)?.1;
                hint = hint.replace(value, given);
            }
            Some(_) if word.contains('=') => hint = hint.replace(pattern, word),
            None if is_placeholder(pattern) && !taken.contains(word) => {
                hint = hint.replace(pattern, word)
            }
            _ => return None,
        }
    }
    Some(hint)
}

fn is_placeholder(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
}
