//! `kq explain`: messages quoted in public threads, and what people paste around them.

use super::{kq, repository};
use serde_json::Value;

/// Returns the messages with what is known of them.
fn messages() -> Vec<Value> {
    let file = repository().join("tests/vectors/messages/public.jsonl");
    let text = std::fs::read_to_string(file).expect("the messages");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Returns the answer about a message.
fn explained(message: &str) -> Value {
    kq("explain").arg(message).json()
}

/// Returns the number that a fact begins with, in its name or in its value.
fn number(name: &str, value: &str) -> Option<String> {
    let leading = |text: &str| {
        let digits: String =
            text.chars().take_while(|c| c.is_ascii_digit() || *c == '.' || *c == '-').collect();
        let digits = digits.trim_end_matches('.').to_owned();
        digits.chars().any(|c| c.is_ascii_digit()).then_some(digits)
    };
    leading(name).or_else(|| leading(value))
}

#[test]
fn messages_of_public_threads_are_explained() {
    let all = messages();
    assert_eq!(all.len(), 40);
    for known in &all {
        let message = text(known, "message");
        let answer = explained(message);
        for (field, expected) in [("speaker", "speaker"), ("domain", "domain")] {
            assert_eq!(text(&answer, field), text(known, expected), "{message}");
        }
        if known["certainty"] == "source read" {
            assert_eq!(answer["goFile"], known["go_file"], "{message}");
            assert_eq!(answer["goFunction"], known["go_function"], "{message}");
        }
        let values: Vec<&str> = answer["values"]
            .as_array()
            .expect("values")
            .iter()
            .map(|fact| text(fact, "value"))
            .collect();
        for (name, value) in known["facts"].as_object().expect("facts") {
            let Some(number) = number(name, value.as_str().unwrap_or_default()) else { continue };
            let is_named = values.iter().any(|value| value.contains(&number));
            assert!(is_named, "{message}: {name}: {value}: {values:?}");
        }
    }
}

#[test]
fn what_is_pasted_around_a_message_does_not_matter() {
    let plain = "Container image \"error_pages:local\" is not present with pull policy of Never";
    let around = [
        format!("Jan 02 03:04:05 n1 kubelet[812]: {plain}"),
        format!("  Warning  ErrImageNeverPull  3m (x4 over 5m)  kubelet  {plain}"),
        format!("\u{1b}[31m{plain}\u{1b}[0m"),
        plain.replace('"', "\\\""),
        plain.replace('"', ""),
        plain.replace("not present", "not\n    present"),
        plain.replace("policy of", "pol\nicy of"),
        serde_json::json!({"kind": "Event", "reason": "ErrImageNeverPull", "message": plain})
            .to_string(),
        plain[..60].to_owned() + "...",
    ];
    for message in around {
        let answer = explained(&message);
        assert_eq!(
            text(&answer, "goFunction"),
            "imageManager.imageNotPresentOnNeverPolicyError",
            "{message}"
        );
    }
}

/// Lines of logs and events of kubelets 1.32 to 1.37 and of their neighbours, with who says them, the function, and the values
/// within.
#[test]
fn lines_of_logs_and_events_are_explained() {
    let file = repository().join("tests/vectors/messages/lines.tsv");
    let text = std::fs::read_to_string(file).expect("the lines");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [message, speaker, function, values] = columns[..] else { panic!("{line}") };
        let is_log = message.starts_with(['E', 'W', 'I']) && message.contains(".go:");
        let around = [
            message.to_owned(),
            format!("Nov 27 10:11:12 worker-3 kubelet[812]: {message}"),
            wrapped(message),
        ];
        for pasted in around.iter().take(if is_log { 3 } else { 1 }) {
            let Ok(found) = kq_core::explain::explain_message(pasted) else {
                wrong.push(format!("not known: {pasted}"));
                continue;
            };
            let is_same =
                found.speaker == speaker && found.go_function == function.trim_matches('-');
            let has = |value: &str| found.values.iter().any(|it| it.value == value);
            let lost: Vec<&str> =
                values.split('|').filter(|it| !it.is_empty() && !has(it)).collect();
            // A value that was wrapped has another blank.
            if !is_same || (!lost.is_empty() && *pasted != around[2]) {
                wrong.push(format!("{} {}: {lost:?}: {pasted}", found.speaker, found.go_function));
            }
            assert!(found.is_explained, "{pasted}");
        }
    }
    assert!(text.lines().count() > 120, "{}", text.lines().count());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is said of a message: a row has the message, and words of the summary, of what follows, and of what to do, and words that
/// the answer does not have; `|` parts them.
#[test]
fn what_follows_from_a_message_is_its_own() {
    let file = repository().join("tests/vectors/messages/answers.tsv");
    let text = std::fs::read_to_string(file).expect("the answers");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [message, summary, leads, action, nowhere] = columns[..] else { panic!("{line}") };
        let Ok(found) = kq_core::explain::explain_message(message) else {
            wrong.push(format!("not known: {message}"));
            continue;
        };
        let shown = kq_core::explain::lines::message_lines(&found, false);
        let shown = shown.join("\n");
        let one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = [(summary, &found.summary), (leads, &found.leads_to), (action, &found.action)];
        for (expected, said) in parts {
            let lost = expected.split('|').find(|it| !said.contains(it));
            wrong.extend(lost.map(|it| format!("{message}: {it:?} is not in {said:?}")));
        }
        let has =
            |words: &&str| !words.is_empty() && (shown.contains(words) || one_line.contains(words));
        let said = nowhere.split('|').find(|it| has(it));
        wrong.extend(said.map(|it| format!("{message}: {it:?} is in {shown}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn spaces_of_other_scripts_are_spaces() {
    let file = repository().join("tests/vectors/messages/lines.tsv");
    let text = std::fs::read_to_string(file).expect("the lines");
    // As they are copied from web pages. Each space in turn, from the end.
    for line in text.lines().step_by(7) {
        let message = line.split('\t').next().expect("a message");
        for space in ["\u{a0}", "\u{2003}", "\u{3000}"] {
            for (at, _) in message.match_indices(' ').rev().take(8) {
                let pasted = format!("{}{space}{}", &message[..at], &message[at + 1..]);
                let _ = kq_core::explain::explain_message(&pasted);
            }
        }
    }
    for pasted in ["a\u{a0}] b", "Failed to x\u{a0}err=\"v\"", "not ready:\u{a0}server.go:1] x"] {
        assert!(kq_core::explain::explain_message(pasted).is_err(), "{pasted}");
    }
}

/// What kubectl shows in the columns STATUS and REASON: reasons of the kubelet's events (`pkg/kubelet/events/event.go`, 1.36.2),
/// of pods, containers and conditions, and of others.
const REASONS: &str = "
    Created Started Killing Preempting BackOff ExceededGracePeriod FailedKillPod NetworkNotReady ResizeDeferred
    ResizeInfeasible ResizeCompleted ResizeStarted ResizeError Pulling Pulled InspectFailed ErrImageNeverPull NodeReady
    NodeNotReady NodeSchedulable NodeNotSchedulable Starting FailedAttachVolume FailedMount FailedMapVolume Rebooted
    ContainerGCFailed ImageGCFailed FailedNodeAllocatableEnforcement NodeAllocatableEnforced SandboxChanged
    FailedCreatePodSandBox FailedPrepareDynamicResources CgroupV1 InvalidDiskCapacity FreeDiskSpaceFailed Unhealthy
    ProbeWarning FailedSync FailedValidation FailedPostStartHook FailedPreStopHook EvictionThresholdMet SystemOOM
    NodeAffinity NodeName NodePorts TaintToleration OutOfcpu OutOfmemory OutOfpods UnexpectedAdmissionError
    TopologyAffinityError SysctlForbidden AppArmor PodOSNotSupported PodOSSelectorNodeLabelDoesNotMatch InvalidNodeInfo
    PodFeatureUnsupported NodeShutdown Terminated Evicted Preempted DeadlineExceeded CrashLoopBackOff ErrImagePull
    ImagePullBackOff ImageInspectError InvalidImageName CreateContainerConfigError CreateContainerError
    RunContainerError KillContainerError CreatePodSandboxError ConfigPodSandboxError KillPodSandboxError
    ResizePodInPlaceError RemoveContainerError PreCreateHookError PreStartHookError PostStartHookError OOMKilled Error
    Completed StartError ContainerCannotRun ContainerStatusUnknown ContainerCreating PodInitializing ContainersNotReady
    ContainersNotInitialized ReadinessGatesNotReady UnknownContainerStatuses PodCompleted PodFailed Deferred Infeasible
    PodResizePending MemoryPressure DiskPressure PIDPressure KubeletNotReady KubeletReady KubeletHasSufficientMemory
    KubeletHasInsufficientMemory KubeletHasNoDiskPressure KubeletHasDiskPressure KubeletHasSufficientPID
    KubeletHasInsufficientPID NodeHasSufficientMemory NodeHasDiskPressure NodeStatusUnknown NodeStatusNeverUpdated
    TerminationByKubelet DisruptionTarget PreemptionByScheduler EvictionByEvictionAPI DeletionByTaintManager
    Failed FailedCreatePodContainer FailedPodSandBoxStatus FailedNodeDeclaredFeaturesCheck KubeletSetupFailed
    VolumeResizeFailed FileSystemResizeFailed VolumePermissionChangeInProgress AlreadyMountedVolume Shutdown
    FailedMountOnFilesystemMismatch PossibleMemoryBackedVolumesOnDisk InvalidImageID
    DeletionByPodGC FailedScheduling Terminating Init:0/2 Init:CrashLoopBackOff
";

#[test]
fn reasons_are_explained_however_they_are_typed() {
    let mut unknown = Vec::new();
    for reason in REASONS.split_whitespace() {
        let explain = |typed: &str| {
            let found = kq_core::explain::explain_message(typed).ok();
            found.filter(|it| it.is_explained).map(|it| it.means)
        };
        match explain(reason) {
            None => unknown.push(reason),
            // A value within, such as a resource, is compared as the kubelet writes it.
            Some(means) if !reason.contains(':') && !reason.starts_with("OutOf") => {
                assert_eq!(explain(&reason.to_lowercase()), Some(means), "{reason}");
            }
            Some(_) => {}
        }
    }
    assert_eq!(unknown, [""; 0]);
    assert!(kq_core::explain::explain_message("Errors").is_err());
}

/// Returns a line as a terminal of 80 columns wraps it at words.
fn wrapped(line: &str) -> String {
    let mut columns = 0;
    let words = line.split(' ').map(|word| {
        columns += word.len() + 1;
        match columns > 80 {
            true => {
                columns = word.len() + 1;
                format!("\n{word}")
            }
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ").replace(" \n", "\n")
}

#[test]
fn what_is_not_known_is_refused() {
    for message in
        ["hello world", "open /x: permission denied", "E0101 00:00:00.000000 1 x.go:1] \"new\""]
    {
        let ran = kq("explain").arg(message).run();
        assert_eq!(ran.code, 3, "{message}: {}", ran.text());
        assert!(ran.stderr.contains("not one of the messages that kq knows"), "{}", ran.text());
    }
    assert_eq!(kq("explain").run().code, 2);
}

#[test]
fn an_unknown_message_of_an_event_is_explained_by_its_reason() {
    for (row, speaker) in [
        ("Warning  FailedMount  3m (x4 over 5m)  kubelet  the disk told a new joke", "kubelet"),
        ("3m7s  Warning  FailedMount  pod/web-0  the disk told a new joke", "kubelet"),
        ("Warning  FailedScheduling  3m  default-scheduler  a new joke", "kube-scheduler"),
    ] {
        let answer = explained(row);
        assert_eq!(answer["speaker"], speaker, "{answer}");
        assert!(text(&answer, "message").contains("a new joke"), "{answer}");
        assert!(text(&answer, "means").contains("kq does not know the message"), "{answer}");
        assert_ne!(answer["action"], "", "{answer}");
    }
    // A reason that is not the speaker's explains nothing.
    for row in
        ["Warning FailedScheduling 3m kubelet a new joke", "Warning NewReason 3m kubelet a joke"]
    {
        assert_eq!(kq("explain").arg(row).run().code, 3, "{row}");
    }
}

#[test]
fn secrets_and_escapes_are_not_repeated() {
    let message = "Failed to pull image \"https://bob:hunter2@r.test/x\": \u{1b}]0;gotcha\u{7} Authorization: Bearer \
                   abcdefgh.ijkl";
    for format in ["table", "wide", "json", "yaml"] {
        let ran = kq(&format!("explain -o {format}")).arg(message).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        for secret in ["hunter2", "abcdefgh", "gotcha", "\u{1b}"] {
            assert!(!ran.text().contains(secret), "{secret}: {}", ran.text());
        }
    }
}

#[test]
fn a_log_is_folded() {
    let line = "E0413 10:53:52.844381    3263 kubelet.go:2055] \"Skipping pod synchronization\" err=\"PLEG is not \
                healthy: pleg was last seen active 2h33m12.7s ago; threshold is 3m0s\"\n";
    let log = line.repeat(3) + "I0413 10:54:00.000000    3263 x.go:1] \"nothing\"\n";
    let ran = kq("explain - -o json").stdin(log.clone()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let answer: Value = ran.answer();
    assert_eq!(answer["kinds"][0]["count"], 3);
    assert_eq!(answer["kinds"][0]["newest"]["goFunction"], "GenericPLEG.Healthy");
    let unknown = log + "E0413 10:55:00.000000    3263 x.go:1] \"unheard of\" err=\"no\"\n";
    let ran = kq("explain -").stdin(unknown).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("unheard of"), "{}", ran.text());
}

#[test]
fn lines_fit_a_terminal() {
    for known in messages() {
        let ran = kq("explain").arg(text(&known, "message")).run();
        let long = ran.stdout.lines().find(|line| line.chars().count() > 80 && line.contains(' '));
        // A path or an address has no place where it could be parted.
        let is_one_word = |line: &str| line.split_whitespace().any(|word| word.len() > 60);
        assert!(long.is_none_or(is_one_word), "{long:?}");
    }
}

/// What others say within the recorded answers: Go's parsers, servers, the recorder's stand-ins.
const OTHERS: [&str; 14] = [
    "strconv.",
    "time: ",
    "parse \"",
    "[rpc error",
    "rpc error: 100%",
    "unexpected end of JSON",
    "invalid character",
    "illegal base64",
    "json: cannot",
    "mock ",
    "panic: runtime error",
    "invalid byte in chunk",
    "node(s) ",
    "dial tcp: address [",
];

/// The keys of recorded answers that have a message.
const KEYS: [&str; 8] = ["message", "error", "errors", "reason", "event", "err", "events", "text"];

fn collect(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(value, key, found)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        Value::String(text) if KEYS.contains(&key) && text.len() > 12 && text.contains(' ') => {
            found.push(text.clone());
        }
        _ => {}
    }
}

/// Returns a text without its numbers, names and paths.
fn shape(text: &str) -> String {
    let parts = text.split(['"', ' ', ':']);
    let is_word = |part: &&str| part.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    parts.filter(is_word).take(9).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_the_kubelet_said_in_recorded_answers_is_explained() {
    let mut seen = std::collections::BTreeSet::new();
    let mut unknown = Vec::new();
    for family in [
        "admission",
        "cpu_admit",
        "cpu_start",
        "device_allocate",
        "device_register",
        "eviction",
        "gc_loop",
        "container_gc",
        "image_gc",
        "kubelet_config_validate",
        "kubelet_flags",
        "memory_admit",
        "memory_start",
        "node_allocatable",
        "preempt_admit",
        "probe_exec",
        "probe_tcp",
        "sysctl_admit",
        "topology_merge",
    ] {
        let file = repository().join(format!("tests/vectors/{family}.jsonl"));
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{family}: {error}"));
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).expect(line);
            let mut said = Vec::new();
            collect(&case["out"], "", &mut said);
            for message in said {
                let is_others = OTHERS.iter().any(|words| message.starts_with(words));
                if is_others
                    || message.starts_with("quantities must match")
                    || !seen.insert(shape(&message))
                {
                    continue;
                }
                if kq_core::explain::explain_message(&message).is_err() {
                    unknown.push(format!("{family}: {message}"));
                }
            }
        }
    }
    assert!(seen.len() > 200, "{}", seen.len());
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn rows_of_kubectl_and_what_only_has_a_place_are_answered() {
    for (message, explained_by, is_explained) in [
        (
            "  Warning  Failed     3m (x4 over 5m)   kubelet  Error: ErrImagePull",
            "startContainer",
            true,
        ),
        (
            "shop   3m7s   Warning   BackOff   pod/web-0   Back-off restarting failed container app in pod web-0_shop(1)",
            "doBackOff",
            true,
        ),
        (
            "I0419 03:02:12.911 4179744 kuberuntime_gc.go:361] \"Error getting ContainerStatus for containerID\" containerID=\"c\"",
            "evictPodLogsDirectories",
            false,
        ),
        (
            "--kube-reserved value failed to parse: resource quantity for \"memory\" cannot be negative: -1Gi",
            "parseResourceList",
            true,
        ),
    ] {
        let answer = explained(message);
        let function = text(&answer, "goFunction");
        assert!(function.ends_with(explained_by), "{message}: {function}");
        assert_eq!(answer["isExplained"], is_explained, "{message}");
        assert!(!text(&answer, "goFile").is_empty(), "{message}");
    }
}

#[test]
fn what_wraps_a_message_says_what_follows() {
    for (message, leads, lacks) in [
        (
            "Pod resize Deferred: {\"containers\":[{\"name\":\"c\"}],\"generation\":2,\"error\":\"Node didn't have enough \
             resource: cpu, requested: 5000, used: 3500, capacity: 3920\"}",
            "The pod runs on with what it has",
            "is Failed",
        ),
        (
            "Liveness probe errored: rpc error: code = NotFound desc = failed to exec in container: failed to load task",
            "Neither success nor failure is counted",
            "failureThreshold",
        ),
        (
            "AttachVolume.Attach failed for volume \"pvc-1\" : volume attachment is being deleted",
            "The pod stays in ContainerCreating",
            "nothing",
        ),
    ] {
        let found = kq_core::explain::explain_message(message).expect("a message");
        assert!(found.leads_to.contains(leads), "{message}: {}", found.leads_to);
        assert!(!found.leads_to.contains(lacks), "{message}: {}", found.leads_to);
    }
}

#[test]
fn quotes_of_web_pages_are_quotes() {
    let message =
        "Node didn\u{2019}t have enough resource: cpu, requested: 5000, used: 3500, capacity: 3920";
    let found = kq_core::explain::explain_message(message).expect("a message");
    assert_eq!(found.value("used"), Some("3500"));
    // What a cut message lacks leaves no dots behind.
    let cut = "Get \"https://10.0.0.1:8080/healthz\": tls: failed to verify certificate: x509: certificate has expired";
    let found = kq_core::explain::explain_message(cut).expect("a message");
    assert!(!found.summary.contains("...."), "{}", found.summary);
}

#[test]
fn statuses_and_logs_in_json_are_read_as_they_are_pasted() {
    let folded = |text: &str| kq("explain -").stdin(text).run();
    let log = r#"{"log":"E1122 03:07:41.123456    1234 kubelet.go:1567] \"Image garbage collection failed once\" err=\"failed to get imageFs info: unable to find data in memory cache\"\n","stream":"stderr"}"#;
    let ran = folded(log);
    assert!(ran.stdout.starts_with("cAdvisor has no statistics"), "{}", ran.text());
    let described = "State:          Waiting\n  Reason:       CrashLoopBackOff\nLast State:     Terminated\n  \
                     Reason:       OOMKilled\n  Exit Code:    137\n";
    let pods = "NAME        READY   STATUS             RESTARTS      AGE\n\
                web-7xkqp   0/1     OOMKilled          12 (3m ago)   1h\n\
                web-abcde   0/1     CrashLoopBackOff   0             2h\n";
    for text in [described, pods] {
        let ran = folded(text);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stdout.starts_with("2 kinds of problems"), "{}", ran.text());
        let ran = kq("explain").arg(text).run();
        assert!(ran.stdout.starts_with("2 kinds of problems"), "{}", ran.text());
    }
    // Fields without a reason tell nothing.
    assert_eq!(folded("Name: web\nNamespace: shop\n").code, 3);
}

#[test]
fn a_line_without_an_end_is_refused() {
    let ran = kq("explain -f /dev/zero").run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stderr.contains("/dev/zero has more than 67108864 bytes in a line"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_message_of_several_lines_is_one_on_standard_input() {
    for (text, starts) in [
        (
            "  Warning  FailedMount  2m36s (x13 over 12m)  kubelet  MountVolume.SetUp failed for volume \"log\" : mount failed: \
             exit status 32\nMounting command: mount\nMounting arguments: -t cifs //a/b /c\nOutput: mount error(13): \
             Permission denied\nRefer to the mount.cifs(8) manual page\n",
            "The program mount failed with exit status 32",
        ),
        (
            "  message: 'The node was low on resource: ephemeral-storage. Container worker\n    was using 73712Ki, which \
             exceeds its request of 0. '\n",
            "What was available of ephemeral-storage",
        ),
        (
            "E1204 10:11:12.123456 812 kubelet.go:1688] \"Failed to start ContainerManager\" err=\"[open \
             /proc/sys/kernel/panic_on_oops: permission denied,\n  open /proc/sys/kernel/panic: permission denied]\"\n",
            "The kubelet may not set kernel/panic",
        ),
        (
            "k3s[192]: E1204 10:11:12.123456 192 pod_workers.go:1324] \"Error syncing pod, skipping\"\n  err=\"secret \
             \\\"db\\\" not found\"\n",
            "The pod could not be brought to its state",
        ),
    ] {
        let ran = kq("explain -").stdin(text).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stdout.starts_with(starts), "{}", ran.text());
        assert_eq!(kq("explain").arg(text).run().stdout, ran.stdout, "{text}");
    }
}

#[test]
fn of_a_cut_word_nothing_is_said() {
    for (message, wrong) in [
        (
            "E1007 20:21:42.848181 16969 event.go:368] \"Unable to write event (may retry after sleeping)\" err=\"Post \
             \\\"https://controlplane:655>",
            "655",
        ),
        (
            "n1 kubelet[812]: E0909 02:58:28.809511 4658 log.go:32] \"RunPodSandbox from runtime service failed\" \
             err=\"rpc error: code = U>",
            "U",
        ),
        (
            "n1 kubelet[812]: E0618 16:34:51.684304 1120 kuberuntime_manager.go:1478] \"killPodWithSyncResult failed\" \
             err=\"failed to \\\"KillPodSandbox\\\" for \\\"x\\\" with Kil\u{2026}rror code: CANCEL\\\"\"",
            "Kil",
        ),
    ] {
        let found = kq_core::explain::explain_message(message).expect("a message");
        assert_eq!(found.speaker, "kubelet", "{message}");
        let said = found.values.iter().find(|it| it.value == wrong);
        assert!(said.is_none(), "{message}: {said:?}");
    }
}

#[test]
fn a_text_of_another_file_is_not_taken_for_its_own() {
    for (line, file) in [
        (
            "E0101 00:00:00.000000 1 x.go:1] failed to read pod IP from the plugin: no",
            "fs_pullrecords.go",
        ),
        ("E0101 00:00:00.000000 1 x.go:1] failed to remove the pod of y: no", "local.go"),
    ] {
        let found = kq_core::explain::explain_message(line);
        assert!(found.is_err(), "{file}: {found:?}");
    }
    // The level of a line says whether it is a failure.
    let line = |level: &str, err: &str| {
        let line = format!(
            "{level}0101 00:00:00.000000 1 generic.go:459] \"PLEG: Write status\" pod=\"a/b\"{err}"
        );
        kq_core::explain::explain_message(&line).expect("a message").rank
    };
    assert_eq!(line("I", ""), kq_core::explain::Rank::Note);
    assert_eq!(line("E", " err=\"no\""), kq_core::explain::Rank::Retry);
    assert_eq!(line("E", ""), kq_core::explain::Rank::Retry);
}
