//! What the kubelet refuses in its configuration, and the configuration without it.
//!
//! A kubelet does not start with such a value. A question about the node is answered nevertheless: the value's field has
//! its default, and what rests on it is not known.

use crate::describe::{ConfigSource, DescribeError};
use kq_answer::missing::{Missing, MissingFact};
use kq_answer::origin::Origin;
use kq_k8s::nearest::MOST_HINTS;
use kq_output::terminal::brief;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Fields of a configuration with which the kubelet does not start.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedConfig {
    /// The fields; empty: all of them.
    pub fields: Vec<String>,
    /// A flag of the operator set one of them.
    pub is_of_flag: bool,
    /// Why the kubelet refuses them.
    pub error: DescribeError,
}

impl RefusedConfig {
    /// Returns the fields that are not known, and why.
    pub fn missing(&self) -> Missing {
        let fields = self.fields.join(", ");
        let cause = [self.cause()].into_iter().chain(self.hints()).collect::<Vec<_>>().join(", ");
        let stands_in = match self.fields.as_slice() {
            [] => "kq uses the defaults of its version".to_owned(),
            _ => format!("kq uses the default of {fields}"),
        };
        let text = format!(
            "the kubelet does not start with its configuration: {cause}; {stands_in} \
             (--kubelet-config FILE gives another)"
        );
        let missing = Missing::new(MissingFact::KubeletConfig, text);
        if fields.is_empty() { missing } else { missing.about(fields) }
    }

    /// Returns true if the kubelet decodes none of it: its decoder refuses the file or a drop-in. The command line that names the
    /// files is right.
    pub(crate) fn is_undecoded(&self) -> bool {
        matches!(self.error, DescribeError::Undecoded(_) | DescribeError::DropIns(_))
    }

    /// Names the file, where no field says where the configuration is from.
    pub(crate) fn name_file(&mut self, file: &str) {
        if let DescribeError::Config { origin, .. } = &mut self.error {
            origin.get_or_insert_with(|| Origin::Source(file.to_owned()));
        }
    }

    /// Returns what was probably meant.
    fn hints(&self) -> Vec<String> {
        match &self.error {
            DescribeError::Gates { error, .. } => error
                .problems
                .iter()
                .filter_map(|problem| problem.hint())
                .take(MOST_HINTS)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the error with its causes.
    fn cause(&self) -> String {
        let first: &dyn std::error::Error = &self.error;
        let causes = std::iter::successors(Some(first), |error| error.source());
        let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        brief(&text).into_owned()
    }
}

/// A configuration with more of them is not used at all.
const MOST_REFUSALS: usize = 50;

/// What was made of a configuration without the fields that are refused.
pub(crate) struct Accepted<T> {
    /// What was made; an error even without a configuration.
    pub made: Result<T, DescribeError>,
    /// The rest of the configuration.
    pub config: ConfigSource,
    /// What was left out, in the order in which it was found.
    pub refused: Vec<RefusedConfig>,
}

impl<T> Accepted<T> {
    /// Makes something of a configuration, without the fields for which `make` fails.
    pub fn of(
        mut config: ConfigSource,
        make: impl Fn(&ConfigSource) -> Result<T, DescribeError>,
    ) -> Self {
        let mut refused = Vec::new();
        let error_of = |config: &ConfigSource| make(config).err();
        let mut made = make(&config);
        while let Err(error) = &made {
            if config.value.is_null() {
                break;
            }
            let mut fields = match refused.len() < MOST_REFUSALS {
                true => culprits(&mut config, error, error_of),
                false => Vec::new(),
            };
            fields.retain(|field| config.value.get(field).is_some());
            let is_flag =
                |field: &String| matches!(config.origins.get(field), Some(Origin::Flag(_)));
            let is_of_flag = fields.iter().any(is_flag);
            match fields.as_slice() {
                [] => config = only_flags(config),
                some => some.iter().for_each(|field| forget(&mut config, field, error)),
            }
            let error = error.clone();
            refused.push(RefusedConfig { fields, is_of_flag, error });
            made = make(&config);
        }
        Self { made, config, refused }
    }
}

/// Returns the fields that flags of the operator set; nothing, where no other field is left.
fn only_flags(config: ConfigSource) -> ConfigSource {
    let is_whole = config.refused.is_none();
    let is_flag = |field: &str| matches!(config.origins.get(field), Some(Origin::Flag(_)));
    let Value::Object(fields) = &*config.value else { return ConfigSource::default() };
    let kept: serde_json::Map<String, Value> = fields
        .iter()
        .filter(|(field, _)| is_flag(field))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    if kept.is_empty() || is_whole && kept.len() == fields.len() {
        return ConfigSource::default();
    }
    let origins = config.origins.iter().filter(|(field, _)| kept.contains_key(*field));
    let origins = origins.map(|(field, origin)| (field.clone(), origin.clone())).collect();
    ConfigSource { value: Value::Object(kept).into(), origins, ..ConfigSource::default() }
}

/// Removes what an error is about: a field, or the gates in it.
fn forget(config: &mut ConfigSource, field: &str, error: &DescribeError) {
    let Value::Object(fields) = Arc::make_mut(&mut config.value) else { return };
    if let (DescribeError::Gates { error, .. }, Some(Value::Object(gates))) =
        (error, fields.get_mut(field))
    {
        let before = gates.len();
        let wrong: BTreeSet<&str> = error.problems.iter().map(|problem| problem.gate()).collect();
        gates.retain(|name, _| !wrong.contains(name.as_str()));
        if gates.len() < before {
            return;
        }
    }
    fields.remove(field);
    config.origins.remove(field);
}

/// Returns the fields that an error is about.
fn culprits(
    config: &mut ConfigSource,
    error: &DescribeError,
    problem: impl Fn(&ConfigSource) -> Option<DescribeError>,
) -> Vec<String> {
    match error {
        DescribeError::Config { error, .. } => error
            .field()
            .filter(|field| !TYPE.contains(field))
            .map(str::to_owned)
            .into_iter()
            .collect(),
        DescribeError::Undecoded(_) | DescribeError::DropIns(_) => Vec::new(),
        DescribeError::Gates { .. } => vec!["featureGates".to_owned()],
        DescribeError::Reservation { error, .. } => vec![error.field().to_owned()],
        DescribeError::Threshold { refused, .. } => vec![refused.field.to_owned()],
        DescribeError::OverReserved(_) => {
            ["kubeReserved", "systemReserved", "reservedSystemCPUs", "evictionHard"]
                .map(str::to_owned)
                .to_vec()
        }
        DescribeError::Invalid { .. } => least_wrong(config, error, problem),
    }
}

/// The fields that say which document it is.
const TYPE: [&str; 2] = ["apiVersion", "kind"];

/// A rule of the kubelet is about single values and short lists; a longer one is not tried.
const MOST_ENTRIES: usize = 1_000;

/// Returns the field without which the kubelet has the fewest complaints; where no single one helps, those that it compares.
fn least_wrong(
    config: &mut ConfigSource,
    error: &DescribeError,
    problem: impl Fn(&ConfigSource) -> Option<DescribeError>,
) -> Vec<String> {
    let complaints = |error: &DescribeError| match error {
        DescribeError::Invalid { errors, .. } => errors.len(),
        _ => 0,
    };
    let Value::Object(fields) = &*config.value else { return Vec::new() };
    let is_short = |value: &Value| match value {
        Value::Array(items) => items.len() <= MOST_ENTRIES,
        Value::Object(entries) => entries.len() <= MOST_ENTRIES,
        _ => true,
    };
    let names =
        fields.iter().filter(|(name, value)| !TYPE.contains(&name.as_str()) && is_short(value));
    let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    let now = complaints(error);
    let mut best: Option<(usize, String)> = None;
    let mut compared = Vec::new();
    for name in names {
        let other = without(config, &name, &problem);
        let left = other.as_ref().map_or(0, complaints);
        if left < best.as_ref().map_or(now, |(left, _)| *left) {
            best = Some((left, name));
        } else if left == now && other.as_ref() != Some(error) {
            // The default of one field is as wrong next to the value of the other.
            compared.push(name);
        }
    }
    best.map_or(compared, |(_, name)| vec![name])
}

/// Asks a question of a configuration without a field, and puts the field back.
fn without<T>(config: &mut ConfigSource, field: &str, ask: impl Fn(&ConfigSource) -> T) -> T {
    let taken = match Arc::make_mut(&mut config.value) {
        Value::Object(fields) => fields.get_mut(field).map(Value::take),
        _ => None,
    };
    let answer = ask(config);
    if let (Some(taken), Value::Object(fields)) = (taken, Arc::make_mut(&mut config.value)) {
        fields.insert(field.to_owned(), taken);
    }
    answer
}
