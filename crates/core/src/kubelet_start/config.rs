//! The configuration: its file, drop-ins, feature gates, flags, and validation.

use super::flags::Said;
use super::{
    ConfigContent, ConfigPlace, ConfigText, Refused, Stage, StartExamination, StartFacts,
    StartRule, StartWarning,
};
use kq_answer::Certainty;
use kq_answer::origin::Origin;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::describe::ConfigSource;
use kq_facts::kubelet_config::{
    API_VERSION, CgroupMode, DocumentHead, EffectiveConfiguration, KIND, KubeletConfiguration,
    Source, decode, decode_problem, effective_with_flags, known_as, logging_errors, merge_over,
    read, resolve_paths, unknown_fields, unsupported_format, validate_with_flags,
};
use kq_facts::settings::{assign_flag, assign_gates};
use kq_facts::start_files::StartFile;
use kq_k8s::feature_gates::{FeatureGateError, FeatureGates, Gate, Stage as GateStage, gate_state};
use kq_k8s::go_json::Tree;
use kq_k8s::go_text::quote;
use kq_k8s::version::KubeletVersion;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The resulting configuration.
pub(super) struct Read {
    pub given: KubeletConfiguration,
    pub effective: EffectiveConfiguration,
    pub gates: FeatureGates,
}

type Gates = BTreeMap<String, bool>;

/// Reads the available configuration, as far as it can be read.
pub(super) fn load(facts: &StartFacts<'_>, found: &mut StartExamination, said: &Said) -> Read {
    let flag_gates = &said.flags.feature_gates;
    for error in refusals(flag_gates, facts.version()) {
        found.stop(Stage::FlagValues, StartRule::Gates { gates: names(&error), error });
    }
    let flag_gates = accepted(flag_gates, facts.version());
    let named = said.flags.config.is_some();
    if facts.config_file.is_none() && (named || !said.is_known) {
        found.skip("errors in the configuration", "the kubelet's configuration file");
    }
    config_is_folder(facts, found);
    let base = facts.config_file.as_ref().and_then(|file| document(facts, found, file, None));
    let mut base = base.unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(file) = &facts.config_file {
        in_flight(facts, found, &mut base, &flag_gates, &file.path);
    }
    drop_in_folder(facts, found);
    let mut drop_ins = Vec::new();
    for file in &facts.drop_ins {
        if let Some(value) = document(facts, found, file, Some(said)) {
            drop_ins.push((file.path.clone(), value));
        }
    }
    let has_drop_ins = !drop_ins.is_empty();
    let mut merged = base;
    if has_drop_ins {
        let has_file = facts.config_file.is_some();
        let gated = gated_defaults(&merged, &flag_gates, facts.version());
        merged = merge_over(merged.clone(), drop_ins, has_file, gated).unwrap_or(merged);
        if let Some(problem) = decode_problem(&merged, facts.version()) {
            remove(&mut merged, &problem.field);
            let (field, error) = (problem.field, problem.text);
            found.stop(Stage::DropIns, StartRule::MergedType { field, error });
        }
        in_flight(facts, found, &mut merged, &flag_gates, "--config-dir");
    }
    without_strangers(&mut merged, facts.version());
    let mut source = ConfigSource { value: merged.into(), ..ConfigSource::default() };
    for setting in &said.flags.settings {
        let origin = Origin::Flag("the command line");
        // Invalid values were already reported with the flags.
        assign_flag(&mut source, setting, origin).unwrap_or_default();
    }
    assign_gates(&mut source, flag_gates, &Origin::Flag("--feature-gates"));
    let value = source.value;
    let given = match read(&value, Source::Configz, facts.version()) {
        Ok(reading) => reading.config,
        Err(_) => KubeletConfiguration::default(),
    };
    let set = accepted(&given.feature_gates.clone().unwrap_or_default(), facts.version());
    if let Some(error) = refused(&set, facts.version())
        && !found.problems.iter().any(|problem| match &problem.rule {
            StartRule::Gates { error: known, .. } | StartRule::GatesInFile { error: known, .. } => {
                *known == error
            }
            _ => false,
        })
    {
        found.stop(Stage::FlagValues, StartRule::Gates { gates: names(&error), error });
    }
    let gates = lenient(&set, facts.version());
    old_gates(facts, found, &set);
    let mut logging = logging_errors(&given, &gates);
    let mut settings = said.flags.settings.iter();
    // In a file, an empty format is the default.
    if settings.any(|it| it.field == "logging.format" && it.text.is_empty()) {
        logging.insert(0, unsupported_format(""));
    }
    if !logging.is_empty() {
        found.stop(Stage::Logging, StartRule::Logging { errors: logging });
    }
    let by_flag = said.flags.settings.iter().map(|setting| setting.field).collect();
    rules(facts, found, &given, &gates, &by_flag);
    let mut effective = effective_with_flags(&given, facts.version(), &by_flag);
    // The thresholds have their defaults from reading a file.
    let has_file = facts.config_file.is_some() || named || !said.is_known;
    if !has_file && given.eviction_hard.is_none() {
        effective.eviction_hard.clear();
    }
    found.config = value;
    found.gates = Some(gates);
    found.by_flag = by_flag;
    found.effective = Some(effective.clone());
    Read { given, effective, gates }
}

/// Returns the defaults that the gates of the base and of the flags give it (`SetDefaults_KubeletConfiguration`).
fn gated_defaults(base: &Value, flags: &Gates, version: KubeletVersion) -> Map<String, Value> {
    let mut set = flags.clone();
    let given = base.get("featureGates").and_then(Value::as_object).into_iter().flatten();
    set.extend(given.filter_map(|(name, on)| Some((name.clone(), on.as_bool()?))));
    let gates = lenient(&set, version);
    let defaults = [
        (
            Gate::KubeletCrashLoopBackOffMax,
            "crashLoopBackOff",
            json!({ "maxContainerRestartPeriod": "5m0s" }),
        ),
        (
            Gate::KubeletEnsureSecretPulledImages,
            "imagePullCredentialsVerificationPolicy",
            json!("NeverVerifyPreloadedImages"),
        ),
    ];
    let on = defaults.into_iter().filter(|(gate, ..)| gates.enabled(*gate));
    on.map(|(_, field, default)| (field.to_owned(), default)).collect()
}

/// Reads the file of `--config`, where it is a folder (`Load` in `pkg/kubelet/kubeletconfig/configfiles/configfiles.go`).
fn config_is_folder(facts: &StartFacts<'_>, found: &mut StartExamination) {
    let path = facts.process.and_then(|process| process.path_of("config"));
    let Some(path) = path else { return };
    if facts.files.and_then(|files| files.get(&path)) == Some(&StartFile::Folder) {
        let error = format!(
            "failed to load kubelet config file, path: {path}, error: failed to load Kubelet config file {path}, error \
             failed to read kubelet config file {}, error: read {path}: is a directory",
            quote(&path)
        );
        found.stop(Stage::ConfigFile, StartRule::NamedFile { by: "config", path, error });
    }
}

/// Walks through the folder of drop-ins (`mergeKubeletConfigurations`).
fn drop_in_folder(facts: &StartFacts<'_>, found: &mut StartExamination) {
    let path = facts.process.and_then(|process| process.path_of("config-dir"));
    let Some(path) = path else { return };
    match facts.files.and_then(|files| files.get(&path)) {
        Some(StartFile::Absent) => {
            let error = format!(
                "failed to walk through kubelet dropin directory {}: lstat {path}: no such file or directory",
                quote(&path)
            );
            found.stop(Stage::DropIns, StartRule::NamedFile { by: "config-dir", path, error });
        }
        None if facts.drop_ins.is_empty() => {
            found.skip("drop-ins that it cannot read", "the folder of --config-dir");
        }
        _ => {}
    }
}

/// Reads a file and reports why it is refused.
fn document(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    file: &ConfigText,
    drop_in: Option<&Said>,
) -> Option<Value> {
    let stage = if drop_in.is_some() { Stage::DropIn } else { Stage::ConfigFile };
    typed(facts, found, file, drop_in).unwrap_or_else(|refused| {
        found.stop(stage, refused);
        None
    })
}

/// Reads a file; `None`: it is not known. A drop-in is not read into the fields yet.
fn typed(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    file: &ConfigText,
    drop_in: Option<&Said>,
) -> Result<Option<Value>, Refused> {
    let is_drop_in = drop_in.is_some();
    let folder = drop_in.and_then(|said| said.flags.config_dir.clone());
    let place = ConfigPlace { path: file.path.clone(), is_drop_in, folder };
    let (value, text, duplicates) = match &file.content {
        ConfigContent::Absent => return Err(StartRule::NoConfigFile { place }.into()),
        ConfigContent::Folder => return Err(StartRule::ConfigFolder { place }.into()),
        ConfigContent::Empty => return Err(StartRule::EmptyConfigFile { place }.into()),
        ConfigContent::Unreadable(_) => {
            found.skip("errors in the configuration", "a file that could not be read");
            return Ok(None);
        }
        ConfigContent::Broken(error) => {
            return Err(StartRule::NotYaml { place, error: error.clone() }.into());
        }
        ConfigContent::Document { value, text, duplicates } => (value, text, duplicates),
    };
    let tree = Tree::from(&**value);
    let head = match DocumentHead::of(&tree) {
        // The kubelet looks at the kind of a drop-in once more, by its exact name.
        Ok(_) if is_drop_in => exact_head(value),
        Ok(head) => head,
        Err(error) => return Err(StartRule::NotAnObject { place, error }.into()),
    };
    if let Some(field) = head.missing().filter(|field| !is_drop_in || *field == "Kind") {
        let certainty = if text.is_some() { Certainty::Certain } else { Certainty::Likely };
        return Err((StartRule::NoType { place, field, body: text.clone() }, certainty).into());
    }
    let DocumentHead { kind, api_version } = head;
    if let Some(error) = file.content.strict_error().filter(|_| is_drop_in) {
        return Err(StartRule::NotYaml { place, error }.into());
    }
    if kind != KIND || api_version != API_VERSION {
        // The words name a line of the kubelet's source.
        let is_known = is_drop_in || facts.version().has_known_lines();
        let certainty = if is_known { Certainty::Certain } else { Certainty::Likely };
        return Err((StartRule::OtherType { place, kind, api_version }, certainty).into());
    }
    let mut value = Value::clone(value);
    if is_drop_in {
        for field in unknown_fields(&value, facts.version()) {
            let (above, name) = field.rsplit_once('.').unwrap_or(("", &field));
            let known = known_as(above, name).map(str::to_owned);
            let path = file.path.clone();
            found.warn(match known {
                Some(known) => StartWarning::OtherCase { path, field, known },
                None => StartWarning::UnknownField { path, field },
            });
        }
        return Ok(Some(value));
    }
    let decoding = decode(&tree, facts.version());
    if let Some(problem) = decoding.problem {
        remove(&mut value, &problem.field);
        let (field, error) = (problem.field, problem.text);
        found.stop(Stage::ConfigFile, StartRule::FieldType { place, field, error });
    }
    let strict: Vec<String> = duplicates.iter().cloned().chain(decoding.strict).collect();
    if !strict.is_empty() {
        // The errors of strict decoding, which lenient decoding ignores.
        let path = file.path.clone();
        let knows_all = decoding.unknown.is_empty();
        found.warn(StartWarning::Lenient { path, strict_error: strict.join(", "), knows_all });
    }
    // Paths of drop-ins stay as they are.
    if let Some((folder, _)) = file.path.rsplit_once('/') {
        resolve_paths(&mut value, folder);
    }
    Ok(Some(value))
}

/// Returns kind and version by their exact names.
fn exact_head(value: &Value) -> DocumentHead {
    let text =
        |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    DocumentHead { kind: text("kind"), api_version: text("apiVersion") }
}

/// Merges the gates of a file over those of the flags, as the kubelet does when it sets defaults, and reports where it
/// panics (`SetDefaults_KubeletConfiguration`). Removes the invalid gates.
fn in_flight(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    value: &mut Value,
    flags: &Gates,
    path: &str,
) {
    let Some(Value::Object(given)) = value.get_mut("featureGates") else { return };
    let said = given.iter().filter_map(|(name, on)| Some((name.clone(), on.as_bool()?)));
    let mut set = flags.clone();
    set.extend(said);
    let errors = refusals(&set, facts.version());
    if errors.is_empty() {
        return;
    }
    let accepted = accepted(&set, facts.version());
    given.retain(|name, _| accepted.contains_key(name));
    for error in errors {
        let is_known = found.problems.iter().any(|problem| {
            matches!(&problem.rule, StartRule::GatesInFile { error: known, .. } if *known == error)
        });
        if !is_known {
            let (path, gates) = (path.to_owned(), names(&error));
            found.stop(Stage::Defaults, StartRule::GatesInFile { path, gates, error });
        }
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Value::Object(fields) = value {
        fields.remove(field);
    }
}

/// Removes unknown fields.
fn without_strangers(value: &mut Value, version: KubeletVersion) {
    for path in unknown_fields(value, version) {
        if !path.contains(['.', '[']) {
            remove(value, &path);
        }
    }
}

fn refused(set: &Gates, version: KubeletVersion) -> Option<FeatureGateError> {
    FeatureGates::for_version(version).with_overrides(set).err()
}

/// Returns all errors: the first, and those that remain without the gates of the earlier ones.
fn refusals(set: &Gates, version: KubeletVersion) -> Vec<FeatureGateError> {
    let mut left = set.clone();
    let mut errors = Vec::new();
    while let Some(error) = refused(&left, version) {
        let count = left.len();
        left.retain(|name, _| error.problems.iter().all(|problem| problem.gate() != name));
        let is_less = left.len() < count;
        errors.push(error);
        // Removing a gate does not fix a conflict with a default.
        if !is_less {
            break;
        }
    }
    errors
}

fn names(error: &FeatureGateError) -> Vec<String> {
    error.problems.iter().map(|problem| problem.gate().to_owned()).collect()
}

/// Returns the gates that a version accepts, each checked alone.
fn accepted(set: &Gates, version: KubeletVersion) -> Gates {
    let is_taken = |name: &str, on: bool| {
        matches!(name, "AllAlpha" | "AllBeta")
            || gate_state(name, version).is_some_and(|state| !state.locked || state.default == on)
    };
    set.iter().filter(|(name, on)| is_taken(name, **on)).map(|(k, v)| (k.clone(), *v)).collect()
}

/// Returns the resulting gates, even if some lack their dependencies.
fn lenient(set: &Gates, version: KubeletVersion) -> FeatureGates {
    let gates = FeatureGates::for_version(version);
    gates.with_overrides(set).unwrap_or_else(|_| {
        Gate::ALL.into_iter().fold(gates, |gates, gate| match set.get(gate.name()) {
            Some(on) => gates.with(gate, *on),
            None => gates,
        })
    })
}

/// Warns of gates that will be removed.
fn old_gates(facts: &StartFacts<'_>, found: &mut StartExamination, set: &Gates) {
    for (gate, value) in set {
        let stage = match gate_state(gate, facts.version()).map(|state| state.stage) {
            Some(GateStage::Ga) => "GA",
            Some(GateStage::Deprecated) => "deprecated",
            _ => continue,
        };
        found.warn(StartWarning::OldGate { gate: gate.clone(), value: *value, stage });
    }
}

/// Validates the configuration.
fn rules(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    given: &KubeletConfiguration,
    gates: &FeatureGates,
    by_flag: &BTreeSet<&'static str>,
) {
    let cgroups = match facts.cgroup_version {
        Some(CgroupVersion::V1) => CgroupMode::V1,
        Some(CgroupVersion::V2) => CgroupMode::V2,
        None => {
            let of = |mode| validate_with_flags(given, gates, mode, by_flag);
            let (on_v1, on_v2) = (of(CgroupMode::V1), of(CgroupMode::V2));
            let of_one = on_v1.iter().filter(|error| !on_v2.contains(error));
            let of_one: Vec<String> = of_one.map(ToString::to_string).collect();
            if !of_one.is_empty() {
                found.skip_of(
                    "cgroup v1, which the kubelet rejects",
                    "the version of the cgroup hierarchy",
                    of_one,
                );
            }
            CgroupMode::Unknown
        }
    };
    let errors = validate_with_flags(given, gates, cgroups, by_flag);
    if !errors.is_empty() {
        found.stop(Stage::Validation, StartRule::Invalid { errors });
    }
}
