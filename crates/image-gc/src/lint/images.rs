//! The images that are there.

use super::rule::ImageGcRule;
use super::{Found, LintInput};
use kq_answer::{Missing, MissingFact, Subject};
use kq_facts::runtime::Image;
use kq_output::units::first_few;

/// How many of many images are named.
const NAMED: usize = 3;

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Found> {
    let Some(images) = linted.images else { return Vec::new() };
    let mut findings = sandbox(linted, images);
    findings.extend(without_id(images));
    findings.extend(without_tag(linted, images));
    findings
}

/// Returns the fact that is missing.
pub(super) fn missing_fact(linted: LintInput<'_>) -> Option<Missing> {
    let (fact, text) = match (linted.images, linted.in_use) {
        (None, _) => {
            (MissingFact::Images, "images: the list of the container runtime is not known")
        }
        (Some(_), None) => (MissingFact::Containers, "unused images: the containers are not known"),
        (Some(_), Some(_)) => return None,
    };
    Some(Missing::new(fact, text))
}

/// Checks the image of sandboxes, which no container uses and which only a pin protects.
fn sandbox(linted: LintInput<'_>, images: &[Image]) -> Vec<Found> {
    let is_it = |image: &&Image| match linted.sandbox_image {
        Some(name) => refers_to(image, name),
        None => image.repo_tags.iter().any(|tag| looks_like_pause(tag)),
    };
    let present: Vec<&Image> = images.iter().filter(is_it).collect();
    if present.is_empty() {
        let missing = linted.sandbox_image;
        return missing
            .map(|name| about(name, ImageGcRule::SandboxImageMissing))
            .into_iter()
            .collect();
    }
    let named_by_runtime = linted.sandbox_image.is_some();
    let unpinned = present.into_iter().filter(|image| !image.pinned);
    unpinned
        .map(|image| about(name(image), ImageGcRule::SandboxImageNotPinned { named_by_runtime }))
        .collect()
}

/// Returns true if an image has a name: a tag, a digest or its id.
fn refers_to(image: &Image, name: &str) -> bool {
    image.id == name || image.repo_tags.iter().chain(&image.repo_digests).any(|known| known == name)
}

/// Returns true if a tag is that of an image that does nothing but hold a pod's namespaces.
pub(crate) fn looks_like_pause(tag: &str) -> bool {
    let last = tag.rsplit('/').next().unwrap_or_default();
    let repository = last.split([':', '@']).next().unwrap_or_default();
    matches!(repository, "pause" | "pause-amd64" | "pause-arm64" | "mirrored-pause")
}

fn without_id(images: &[Image]) -> Option<Found> {
    let nameless: Vec<&Image> = images.iter().filter(|image| image.id.is_empty()).collect();
    let first = nameless.first()?;
    let names: &Vec<String> =
        if first.repo_tags.is_empty() { &first.repo_digests } else { &first.repo_tags };
    let subject = names.first().cloned().unwrap_or_else(|| "an image without any name".to_owned());
    Some(about(subject, ImageGcRule::ImageWithoutId { images: nameless.len() }))
}

fn without_tag(linted: LintInput<'_>, images: &[Image]) -> Option<Found> {
    let untagged: Vec<&Image> = images.iter().filter(|image| image.repo_tags.is_empty()).collect();
    let first = untagged.first()?;
    let size_bytes = untagged.iter().fold(0_u64, |sum, image| sum.saturating_add(image.size));
    let used = linted
        .in_use
        .map(|in_use| untagged.iter().filter(|image| in_use.contains(image.id.as_str())).count());
    let subject = match untagged.len() {
        1 => name(first),
        _ => first_few(NAMED, untagged.iter().map(|image| name(image))),
    };
    let images = untagged.len();
    Some(about(subject, ImageGcRule::ImageWithoutTag { images, size_bytes, used_images: used }))
}

fn name(image: &Image) -> String {
    let names = image.repo_tags.first().or(image.repo_digests.first());
    names.unwrap_or(&image.id).clone()
}

fn about(image: impl Into<String>, rule: ImageGcRule) -> Found {
    (Subject::Image { name: image.into() }, rule)
}
