//! The images that are there.

use super::{LintInput, count};
use crate::answer::{Finding, Severity, Subject};
use crate::facts::runtime::Image;
use crate::output::units::bytes;

/// How many of many images are named.
const NAMED: usize = 3;

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Finding> {
    let Some(images) = linted.images else { return Vec::new() };
    let mut findings = sandbox(linted, images);
    findings.extend(without_id(images));
    findings.extend(without_tag(linted, images));
    findings
}

/// Returns what could not be looked at.
pub(super) fn not_looked_at(linted: LintInput<'_>) -> Vec<String> {
    let mut missing = Vec::new();
    if linted.images.is_none() {
        missing.push("images: the list of the container runtime is not known".to_owned());
    } else if linted.in_use.is_none() {
        missing.push("unused images: the containers are not known".to_owned());
    }
    missing
}

/// Looks at the image of sandboxes, which no container uses and which only a pin protects.
fn sandbox(linted: LintInput<'_>, images: &[Image]) -> Vec<Finding> {
    let is_it = |image: &&Image| match linted.sandbox_image {
        Some(name) => refers_to(image, name),
        None => image.repo_tags.iter().any(|tag| looks_like_pause(tag)),
    };
    let present: Vec<&Image> = images.iter().filter(is_it).collect();
    let why = "sandboxes do not count as users: once nothing pins it, it goes as an unused image, and \
               no pod starts while it cannot be pulled";
    if present.is_empty() {
        let missing = linted.sandbox_image.map(|name| {
            info("sandbox-image-missing", name, "the image of sandboxes is not on the node")
                .because("the next pod has to wait for it")
                .advise("pull it, and let the container runtime pin it")
        });
        return missing.into_iter().collect();
    }
    let unpinned = present.into_iter().filter(|image| !image.pinned);
    let finding = |image: &Image| {
        let found = match linted.sandbox_image {
            Some(_) => "the image of sandboxes is not pinned",
            None => "looks like an image of sandboxes, and is not pinned",
        };
        warning("sandbox-image-not-pinned", name(image), found).because(why).advise(
            "name it as the sandbox image in the configuration of the container runtime, \
                     which pins it unless it is old",
        )
    };
    unpinned.map(finding).collect()
}

/// Tells whether an image has a name: a tag, a digest or its id.
fn refers_to(image: &Image, name: &str) -> bool {
    image.id == name || image.repo_tags.iter().chain(&image.repo_digests).any(|known| known == name)
}

/// Tells whether a tag is that of an image that does nothing but hold a pod's namespaces.
pub(crate) fn looks_like_pause(tag: &str) -> bool {
    let last = tag.rsplit('/').next().unwrap_or_default();
    let repository = last.split([':', '@']).next().unwrap_or_default();
    matches!(repository, "pause" | "pause-amd64" | "pause-arm64" | "mirrored-pause")
}

fn without_id(images: &[Image]) -> Option<Finding> {
    let nameless: Vec<&Image> = images.iter().filter(|image| image.id.is_empty()).collect();
    let first = nameless.first()?;
    let names: &Vec<String> =
        if first.repo_tags.is_empty() { &first.repo_digests } else { &first.repo_tags };
    let subject = names.first().cloned().unwrap_or_else(|| "an image without any name".to_owned());
    Some(
        warning(
            "image-without-id",
            subject,
            format!("{} without an id", count(nameless.len())),
        )
        .because(
            "the kubelet knows images by their ids: it takes all of these for one, and cannot have it \
             removed",
        )
        .advise("remove it with the container runtime's own tool, and pull it again"),
    )
}

fn without_tag(linted: LintInput<'_>, images: &[Image]) -> Option<Finding> {
    let untagged: Vec<&Image> = images.iter().filter(|image| image.repo_tags.is_empty()).collect();
    let first = untagged.first()?;
    let size = untagged.iter().fold(0_u64, |sum, image| sum.saturating_add(image.size));
    let used = linted.in_use.map(|in_use| {
        let used = untagged.iter().filter(|image| in_use.contains(&image.id)).count();
        format!(", {used} of them in use")
    });
    let subject = match untagged.len() {
        1 => name(first),
        _ => {
            let named: Vec<String> = untagged.iter().take(NAMED).map(|image| name(image)).collect();
            match untagged.len().saturating_sub(NAMED) {
                0 => named.join(", "),
                more => format!("{} and {more} more", named.join(", ")),
            }
        }
    };
    Some(
        info(
            "image-without-tag",
            subject,
            format!(
                "{} without a tag, {}{}",
                count(untagged.len()),
                bytes(size),
                used.unwrap_or_default()
            ),
        )
        .because(
            "they were pulled by digest, or their tag moved on to a newer image; the kubelet does not \
             prefer them, they go when their turn comes",
        )
        .advise("nothing, or remove those that are not in use"),
    )
}

fn name(image: &Image) -> String {
    let names = image.repo_tags.first().or(image.repo_digests.first());
    names.unwrap_or(&image.id).clone()
}

fn warning(id: &'static str, image: impl Into<String>, found: impl Into<String>) -> Finding {
    Finding::new(Severity::Warning, id, Subject::Image { name: image.into() }, found)
}

fn info(id: &'static str, image: impl Into<String>, found: impl Into<String>) -> Finding {
    Finding { severity: Severity::Info, ..warning(id, image, found) }
}
