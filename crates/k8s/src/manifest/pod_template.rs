//! The pod or the pod template that an object carries: read, checked and added.

use super::field::{self, FieldPath};
use super::kinds::PodTemplatePath;
use super::load::{Loaded, LoadedPod, Source, Workload};
use super::problem::{Object, Place, ProblemKind, shortened};
use crate::pod::{ObjectMeta, Pod, PodSpec, object, optional_object};
use crate::validation::{validate, validate_template};
use serde::Deserialize;

/// Checks a pod and adds it.
pub(super) fn add_pod(pod: Pod, place: &Place, loaded: &mut Loaded) {
    let errors = validate(&pod);
    if !errors.is_empty() {
        let object = named("Pod", &pod.metadata);
        let invalid = |error| place.problem(Some(object.clone()), ProblemKind::Invalid(error));
        loaded.problems.extend(errors.into_iter().map(invalid));
        return;
    }
    let mut source = place.source(None);
    source.name_generated = pod.metadata.name.is_empty();
    push(pod, source, loaded);
}

fn push(mut pod: Pod, mut source: Source, loaded: &mut Loaded) {
    if pod.metadata.namespace.is_empty() {
        pod.metadata.namespace.push_str("default");
        source.namespace_defaulted = true;
    }
    loaded.pods.push(LoadedPod { pod: pod.into(), source });
}

fn named(kind: &str, metadata: &ObjectMeta) -> Object {
    let prefix = if metadata.name.is_empty() { &metadata.generate_name } else { &metadata.name };
    Object {
        kind: kind.to_owned(),
        namespace: shortened(&metadata.namespace),
        name: shortened(prefix),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SpecTemplate {
    #[serde(deserialize_with = "object")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "optional_object")]
    spec: Option<WorkloadSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadSpec {
    replicas: Option<i64>,
    parallelism: Option<i64>,
    #[serde(deserialize_with = "optional_object")]
    template: Option<Template>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    #[serde(deserialize_with = "object")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "optional_object")]
    spec: Option<CronSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CronSpec {
    #[serde(deserialize_with = "optional_object")]
    job_template: Option<SpecTemplate>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodTemplate {
    #[serde(deserialize_with = "object")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "optional_object")]
    template: Option<Template>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "object")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "object")]
    spec: PodSpec,
}

/// Reads the pod or the template of an object of a kind that has one.
pub(super) fn read(
    text: &str,
    kind: &str,
    carries: PodTemplatePath,
    place: &Place,
    loaded: &mut Loaded,
) -> Result<(), ProblemKind> {
    let (metadata, spec, template, path) = match carries {
        PodTemplatePath::Pod => {
            add_pod(field::read(text, &place.inner)?, place, loaded);
            return Ok(());
        }
        PodTemplatePath::SpecTemplate => {
            let object: SpecTemplate = field::read(text, &place.inner)?;
            (object.metadata, object.spec, None, "spec.template")
        }
        PodTemplatePath::JobTemplate => {
            let object: JobTemplate = field::read(text, &place.inner)?;
            let job = object.spec.and_then(|spec| spec.job_template).and_then(|job| job.spec);
            (object.metadata, job, None, "spec.jobTemplate.spec.template")
        }
        PodTemplatePath::Template => {
            let object: PodTemplate = field::read(text, &place.inner)?;
            (object.metadata, None, object.template, "template")
        }
    };
    let replicas = spec.as_ref().and_then(|spec| spec.replicas.or(spec.parallelism));
    let Some(template) = template.or(spec.and_then(|spec| spec.template)) else {
        return Err(ProblemKind::Field {
            position: None,
            path: FieldPath::of_keys(path),
            value: None,
            message: "Required value".to_owned(),
        });
    };
    let mut pod = Pod { metadata: template.metadata, spec: template.spec, ..Pod::default() };
    let object = named(kind, &metadata);
    let errors = validate_template(&pod, path);
    if !errors.is_empty() {
        let invalid = |error| place.problem(Some(object.clone()), ProblemKind::Invalid(error));
        loaded.problems.extend(errors.into_iter().map(invalid));
        return Ok(());
    }
    // A template is not a pod yet and has no UID, even if it sets one.
    pod.metadata.uid.clear();
    if pod.metadata.namespace.is_empty() {
        pod.metadata.namespace = metadata.namespace;
    }
    let workload = Workload { kind: kind.to_owned(), name: object.name, replicas };
    if pod.metadata.name.is_empty() {
        pod.metadata.name.clone_from(&workload.name);
    }
    let mut source = place.source(Some(workload));
    source.name_generated = true;
    push(pod, source, loaded);
    Ok(())
}
