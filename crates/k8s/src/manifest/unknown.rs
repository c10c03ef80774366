//! Fields that Kubernetes does not have, in manifests written by hand.
//!
//! The readers ignore such fields, so a pod with `resource:` would be planned as one without
//! requests, while kubectl refuses it. Only single objects are checked, in a second pass: lists
//! come from an API server, which has dropped such fields, and are long.

use super::api_fields::{Fields, of_object};
use super::field::FieldPath;
use super::kinds::{Kind, kind};
use super::load::{Loaded, NoteKind};
use super::object::object_name;
use super::problem::{Place, shortened};
use crate::nearest::nearest;
use crate::pod::{FromMapping, Text};
use crate::yaml::Step;
use serde::Deserialize;
use serde_json::Value;

/// The most notes about one document: a text that is not a manifest gets no note for every field.
const MAX_NOTES: usize = 5;

/// The longest key that may be a misspelt name; the longest name has 36 letters.
const MAX_MISSPELT: usize = 64;

/// The rules by which a JSON text is checked.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
}

/// Notes the unknown fields of a JSON object, unless it is a list.
pub(super) fn note_in_text(text: &str, place: &Place, loaded: &mut Loaded) {
    // Of a list, values would be built for nothing.
    let head: Option<FromMapping<Head<'_>>> = serde_json::from_str(text).ok();
    let name = head.as_ref().and_then(|FromMapping(head)| head.kind.as_deref());
    if matches!(name.map(kind), Some(Kind::Object(..)))
        && let Ok(value) = serde_json::from_str(text)
    {
        note_in_value(&value, place, loaded);
    }
}

/// Notes the unknown fields of an object, unless it is a list.
pub(super) fn note_in_value(value: &Value, place: &Place, loaded: &mut Loaded) {
    let text = |field| value.get(field).and_then(Value::as_str);
    let Some(name) = text("kind") else { return };
    let Kind::Object(carries, version) = kind(name) else { return };
    if text("apiVersion") != Some(version) {
        return;
    }
    let Some(fields) = of_object(name, carries) else { return };
    let mut search = Search { steps: Vec::new(), found: Vec::new() };
    search.look(value, fields);
    // An API server stored it and knew all fields: one that resembles no other is newer than the
    // lists here. One that does was mistyped later, in an editor.
    let stored = value.pointer("/metadata/resourceVersion").is_some();
    for (path, nearest) in search.found {
        if nearest.is_some() || !stored {
            let object = object_name(name, value.get("metadata"));
            loaded.notes.push(place.note(NoteKind::UnknownField { object, path, nearest }));
        }
    }
}

struct Search {
    steps: Vec<Step>,
    found: Vec<(FieldPath, Option<&'static str>)>,
}

impl Search {
    /// Checks a mapping or a list of mappings. Other values are reported elsewhere.
    fn look(&mut self, value: &Value, fields: &'static Fields) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.steps.push(Step::Key(shortened(key)));
                    self.field(key, value, fields);
                    self.steps.pop();
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.steps.push(Step::Index(at));
                    self.look(item, fields);
                    self.steps.pop();
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, key: &str, value: &Value, fields: &'static Fields) {
        if self.found.len() == MAX_NOTES {
            return;
        }
        if fields.names.binary_search(&key).is_err() {
            let names = fields.names.iter().copied();
            let nearest = (key.len() <= MAX_MISSPELT).then(|| nearest(key, names)).flatten();
            self.found.push((FieldPath(self.steps.clone()), nearest));
        } else if let Some((_, below)) = fields.below.iter().find(|(name, _)| *name == key) {
            self.look(value, below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;

    /// Every field that a pod, its containers and their resources have in v1.36.
    const FULL: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {anything: goes}}
spec:
  activeDeadlineSeconds: 600
  affinity: {nodeAffinity: {}, podAffinity: {}, podAntiAffinity: {}}
  automountServiceAccountToken: false
  dnsConfig: {nameservers: [192.0.2.1], options: [{name: ndots, value: "2"}]}
  dnsPolicy: None
  enableServiceLinks: false
  hostAliases: [{ip: 192.0.2.2, hostnames: [db]}]
  hostIPC: false
  hostNetwork: false
  hostPID: false
  hostUsers: false
  hostname: web
  hostnameOverride: web.example.com
  imagePullSecrets: [{name: pull}]
  nodeName: n1
  nodeSelector: {disk: fast}
  os: {name: linux}
  overhead: {cpu: 250m, memory: 64Mi}
  preemptionPolicy: Never
  priority: 10
  priorityClassName: high
  readinessGates: [{conditionType: example.com/ready}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}
  restartPolicy: Always
  runtimeClassName: sandboxed
  schedulerName: default-scheduler
  schedulingGates: [{name: example.com/wait}]
  schedulingGroup: {podGroupName: g}
  securityContext: {runAsNonRoot: true}
  serviceAccount: web
  serviceAccountName: web
  setHostnameAsFQDN: true
  shareProcessNamespace: true
  subdomain: s
  terminationGracePeriodSeconds: 30
  tolerations: [{operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  volumes: [{name: data, emptyDir: {sizeLimit: 1Gi}}]
  containers:
  - &all
    name: web
    image: registry.example.com/web:1
    imagePullPolicy: IfNotPresent
    command: [/web]
    args: [--port, "80"]
    env: [{name: MODE, value: fast}]
    envFrom: [{configMapRef: {name: web}}]
    lifecycle: {preStop: {sleep: {seconds: 5}}}
    livenessProbe: &probe {httpGet: {path: /, port: 80}}
    readinessProbe: *probe
    startupProbe: *probe
    ports: [{containerPort: 80}]
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
    resources:
      claims: [{name: gpu, request: one}]
      requests: {cpu: 500m, memory: 256Mi, example.com/gpu: 1}
      limits: {cpu: 1, memory: 512Mi, example.com/gpu: 1}
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    securityContext: {privileged: false}
    stdin: true
    stdinOnce: true
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    tty: true
    volumeDevices: [{name: raw, devicePath: /dev/xvda}]
    volumeMounts: [{name: data, mountPath: /data}]
    workingDir: /
  initContainers: [{<<: *all, name: setup, restartPolicy: Always}]
  ephemeralContainers: [{<<: *all, name: debug, targetContainerName: web, resources: null}]
status: {phase: Pending, somethingNew: 1}
"#;

    fn pod(rest: &str) -> String {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{rest}\n")
    }

    fn workload(version: &str, kind: &str, rest: &str) -> String {
        format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w, namespace: ns}}\n{rest}")
    }

    /// Compares the notes, without the words and the name that most of them begin with.
    fn check(name: &str, text: &str, expected: &[&str]) {
        let notes: Vec<_> = load("f", text.as_bytes())
            .notes
            .iter()
            .map(|note| note.to_string())
            .map(|note| note.replace("f: document 1: ", "").replace("Pod web: ", ""))
            .map(|note| note.replace("unknown field ", ""))
            .collect();
        assert_eq!(notes, expected, "{name}");
    }

    #[test]
    fn legitimate_fields_give_no_note() {
        let loaded = load("f", FULL.as_bytes());
        assert_eq!((loaded.problems, loaded.pods.len()), (Vec::new(), 1));
        let template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}";
        let job = format!(
            "activeDeadlineSeconds: 1, backoffLimit: 1, backoffLimitPerIndex: 1, \
             completionMode: Indexed, completions: 1, managedBy: m, manualSelector: true, \
             maxFailedIndexes: 1, parallelism: 1, podFailurePolicy: {{}}, \
             podReplacementPolicy: Failed, selector: {{}}, successPolicy: {{}}, suspend: true, \
             ttlSecondsAfterFinished: 1, {template}"
        );
        let rows = [
            ("pod", FULL.to_owned()),
            (
                "deployment",
                workload(
                    "apps/v1",
                    "Deployment",
                    &format!(
                        "spec: {{minReadySeconds: 1, paused: true, progressDeadlineSeconds: 1, \
                     replicas: 1, revisionHistoryLimit: 1, selector: {{}}, strategy: {{}}, \
                     {template}}}\nstatus: {{}}"
                    ),
                ),
            ),
            (
                "stateful set",
                workload(
                    "apps/v1",
                    "StatefulSet",
                    &format!(
                        "spec: {{minReadySeconds: 1, ordinals: {{}}, podManagementPolicy: Parallel, \
                     persistentVolumeClaimRetentionPolicy: {{}}, replicas: 1, selector: {{}}, \
                     revisionHistoryLimit: 1, serviceName: s, updateStrategy: {{}}, \
                     volumeClaimTemplates: [{{apiVersion: v1}}], {template}}}"
                    ),
                ),
            ),
            (
                "daemon set",
                workload(
                    "apps/v1",
                    "DaemonSet",
                    &format!(
                        "spec: {{minReadySeconds: 1, revisionHistoryLimit: 1, selector: {{}}, \
                     updateStrategy: {{}}, {template}}}"
                    ),
                ),
            ),
            (
                "replica set",
                workload(
                    "apps/v1",
                    "ReplicaSet",
                    &format!(
                        "spec: {{minReadySeconds: 1, replicas: 1, selector: {{}}, {template}}}"
                    ),
                ),
            ),
            (
                "replication controller",
                workload(
                    "v1",
                    "ReplicationController",
                    &format!(
                        "spec: {{minReadySeconds: 1, replicas: 1, selector: {{a: b}}, {template}}}"
                    ),
                ),
            ),
            ("job", workload("batch/v1", "Job", &format!("spec: {{{job}}}"))),
            (
                "cron job",
                workload(
                    "batch/v1",
                    "CronJob",
                    &format!(
                        "spec: {{concurrencyPolicy: Allow, failedJobsHistoryLimit: 1, \
                     schedule: '@daily', startingDeadlineSeconds: 1, suspend: true, \
                     successfulJobsHistoryLimit: 1, timeZone: Etc/UTC, \
                     jobTemplate: {{metadata: {{}}, spec: {{{job}}}}}}}"
                    ),
                ),
            ),
            ("pod template", workload("v1", "PodTemplate", template)),
            ("null", pod("spec: {containers: [{name: c, resources: }], initContainers: }")),
        ];
        for (name, text) in rows {
            check(name, &text, &[]);
        }
    }

    #[test]
    fn says_where_and_what_was_meant() {
        let text = pod("spec: {containers: [{name: c, resource: {}}]}");
        let loaded = load("pod.yaml", text.as_bytes());
        let [note] = &loaded.notes[..] else { panic!("{:?}", loaded.notes) };
        let expected = "pod.yaml: document 1: Pod web: unknown field spec.containers[0].resource is \
                        ignored; did you mean resources?";
        assert_eq!(note.to_string(), expected);
        assert_eq!((loaded.pods.len(), loaded.problems.len()), (1, 0));
    }

    #[test]
    fn names_unknown_fields() {
        let containers =
            |field: &str| pod(&format!("spec: {{containers: [{{name: c, {field}}}]}}"));
        let spec = |field: &str| pod(&format!("spec: {{{field}, containers: [{{name: c}}]}}"));
        let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","resource":{}}]}}"#;
        let resource = "spec.containers[0].resource is ignored; did you mean resources?";
        let stored = "resourceVersion: '1'";
        let long = "x".repeat(1_000);
        let long_note = format!("spec[{}...] is ignored", "x".repeat(80));
        let rows: Vec<(&str, String, Vec<&str>)> = vec![
            ("resource", containers("resource: {requests: {cpu: 1}}"), vec![resource]),
            ("json", json.to_owned(), vec![resource]),
            ("json in yaml", format!("---\n{json}"), vec![resource]),
            (
                "json the careful way",
                json.replace("\"name\":\"web\"", "\"name\":\"web\",\"name\":\"web\""),
                vec!["key \"metadata.name\" came before; the last one counts", resource],
            ),
            (
                "request",
                containers("resources: {request: {cpu: 1}, limit: {cpu: 2}}"),
                vec![
                    "spec.containers[0].resources.limit is ignored; did you mean limits?",
                    "spec.containers[0].resources.request is ignored; did you mean requests?",
                ],
            ),
            (
                "resource beside requests",
                containers("resources: {memory: 1Gi}"),
                vec!["spec.containers[0].resources.memory is ignored"],
            ),
            (
                "case",
                containers("Resources: {}"),
                vec!["spec.containers[0].Resources is ignored; did you mean resources?"],
            ),
            (
                "initContainer",
                spec("initContainer: []"),
                vec!["spec.initContainer is ignored; did you mean initContainers?"],
            ),
            (
                "overheads",
                spec("overheads: {cpu: 1}"),
                vec!["spec.overheads is ignored; did you mean overhead?"],
            ),
            (
                "init container",
                spec("initContainers: [{name: i}, {name: j, restartPolice: Always}]"),
                vec![
                    "spec.initContainers[1].restartPolice is ignored; did you mean restartPolicy?",
                ],
            ),
            (
                "field of ephemeral containers",
                containers("targetContainerName: c"),
                vec!["spec.containers[0].targetContainerName is ignored"],
            ),
            (
                "pod level",
                spec("resources: {limit: {cpu: 1}}"),
                vec!["spec.resources.limit is ignored; did you mean limits?"],
            ),
            (
                "top",
                pod("x-common: 1\nspec: {containers: [{name: c}]}"),
                vec!["x-common is ignored"],
            ),
            (
                "refused all the same",
                pod("spec: {container: [{name: c}]}"),
                vec!["spec.container is ignored; did you mean containers?"],
            ),
            (
                "deployment",
                workload(
                    "apps/v1",
                    "Deployment",
                    "spec: {replica: 3, template: {spec: {containers: [{name: c, resource: {}}]}}}",
                ),
                vec![
                    "Deployment ns/w: spec.replica is ignored; did you mean replicas?",
                    "Deployment ns/w: spec.template.spec.containers[0].resource is ignored; did you mean resources?",
                ],
            ),
            (
                "cron job",
                workload(
                    "batch/v1",
                    "CronJob",
                    "spec: {jobTemplate: {spec: {paralelism: 2, template: {spec: {containers: [{name: c}]}}}}}",
                ),
                vec![
                    "CronJob ns/w: spec.jobTemplate.spec.paralelism is ignored; did you mean parallelism?",
                ],
            ),
            (
                "pod template",
                workload(
                    "v1",
                    "PodTemplate",
                    "template: {containers: [], spec: {containers: [{name: c}]}}",
                ),
                vec!["PodTemplate ns/w: template.containers is ignored"],
            ),
            (
                "newer field of a stored object",
                containers("resource: {}, invented: 1")
                    .replace("name: web", &format!("name: web, {stored}")),
                vec![resource],
            ),
            (
                "five at most",
                spec("a1: 0, a2: 0, a3: 0, a4: 0, a5: 0, a6: 0"),
                vec![
                    "spec.a1 is ignored",
                    "spec.a2 is ignored",
                    "spec.a3 is ignored",
                    "spec.a4 is ignored",
                    "spec.a5 is ignored",
                ],
            ),
            ("long key", spec(&format!("{long}: 1")), vec![&long_note]),
            ("list", format!(r#"{{"apiVersion":"v1","kind":"List","items":[{json}]}}"#), vec![]),
            (
                "list the careful way",
                format!(r#"{{"apiVersion":"v1","kind":"List","items":[{json},{{"kind":"Pod"}}]}}"#),
                vec![],
            ),
            ("another version", pod("spec: {a: 1}").replace("v1", "v2"), vec![]),
        ];
        for (name, text, expected) in rows {
            check(name, &text, &expected);
        }
    }
}
