//! What the kubelet remembers of images, and how it finds out which are in use.
//!
//! Rules: `detectImages` in `pkg/kubelet/images/image_gc_manager.go`, read in 1.36.

use foldhash::fast::RandomState;
use kq_facts::timestamp::Timestamp;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use std::sync::Arc;

/// Values by the keys of images. Tables that are only looked up are hashed, as the keys are long and begin alike.
#[expect(clippy::disallowed_types, reason = "what is shown of them is put in order")]
pub type KeyMap<V> = std::collections::HashMap<Arc<str>, V, RandomState>;

/// Keys of images.
#[expect(clippy::disallowed_types, reason = "what is shown of them is put in order")]
pub type Keys = std::collections::HashSet<Arc<str>, RandomState>;

/// Values by texts of others.
#[expect(clippy::disallowed_types, reason = "what is shown of them is put in order")]
pub(crate) type StrMap<'a, V> = std::collections::HashMap<&'a str, V, RandomState>;

/// Texts of others.
#[expect(clippy::disallowed_types, reason = "what is shown of them is put in order")]
pub(crate) type StrSet<'a> = std::collections::HashSet<&'a str, RandomState>;

/// An image as the kubelet sees it in the list of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedImage {
    pub id: Arc<str>,
    /// The class of runtime for which it was pulled; empty is the default.
    pub runtime_handler: String,
    /// In bytes. The runtime counts without a sign and the kubelet with one.
    pub size: i64,
    /// The runtime wants it kept.
    pub pinned: bool,
}

/// A container of any state as the kubelet sees it, which is all that keeps an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageUser {
    /// The id of the image, else how the runtime refers to it.
    pub image_id: Arc<str>,
    /// The class of runtime for which the image was pulled.
    pub runtime_handler: String,
    /// The images that are mounted into it as volumes.
    pub volumes: Vec<Arc<str>>,
    /// Why its status could not be read; only asked for image volumes.
    pub status_error: Option<String>,
}

/// What the kubelet remembers of an image. Absent times are older than everything: never used, or
/// found before records were kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The id, without the handler.
    pub id: Arc<str>,
    /// The class of runtime for which it was pulled, where that distinguishes images.
    pub runtime_handler: String,
    /// When it was first found.
    pub first_detected: Option<Timestamp>,
    /// When it was last found in use.
    pub last_used: Option<Timestamp>,
    /// In bytes.
    pub size: i64,
    /// The runtime wants it kept.
    pub pinned: bool,
    /// The last detection found it in use.
    pub in_use: bool,
    /// The last detection found it at all; others are forgotten.
    pub is_listed: bool,
}

/// What the kubelet remembers, by [`image_key`].
pub type Records = KeyMap<Record>;

/// Returns the properties by which the kubelet distinguishes images: the id, and the handler where that is looked at.
pub fn image_key(id: impl Into<Arc<str>>, runtime_handler: &str, rules: KubeletRules) -> Arc<str> {
    let id = id.into();
    if rules.gates.enabled(Gate::RuntimeClassInImageCriApi) && !runtime_handler.is_empty() {
        format!("{id},{runtime_handler}").into()
    } else {
        id
    }
}

/// Returns the keys of all images in use, listed or not.
///
/// An image that is mounted as a volume is entered by its bare id, and only when it is listed; so it
/// is not kept under a handler.
/// Fails with the kubelet's text when the status of a container could not be read.
pub fn images_in_use(
    images: &[ListedImage],
    users: &[ImageUser],
    rules: KubeletRules,
) -> Result<Keys, String> {
    let looks_for_volumes = rules.gates.enabled(Gate::ImageVolume);
    let has_volumes = looks_for_volumes && users.iter().any(|user| !user.volumes.is_empty());
    let listed: StrSet<'_> = match has_volumes {
        true => images.iter().map(|image| &*image.id).collect(),
        false => StrSet::default(),
    };
    let mut in_use = Keys::default();
    for user in users {
        if looks_for_volumes {
            if let Some(error) = &user.status_error {
                return Err(format!("get container status: {error}"));
            }
            let volumes = user.volumes.iter().filter(|id| listed.contains(&***id));
            in_use.extend(volumes.cloned());
        }
        in_use.insert(image_key(Arc::clone(&user.image_id), &user.runtime_handler, rules));
    }
    Ok(in_use)
}

/// Brings the records up to date: new images begin to be known, those in use were used now, those that
/// are gone are forgotten. Of an image that is listed twice the last entry counts.
pub fn detect(
    records: &mut Records,
    images: &[ListedImage],
    in_use: &Keys,
    now: Timestamp,
    rules: KubeletRules,
) {
    for record in records.values_mut() {
        record.is_listed = false;
    }
    for image in images {
        let key = image_key(Arc::clone(&image.id), &image.runtime_handler, rules);
        let is_used = in_use.contains(&key);
        let record = records
            .entry(key)
            .or_insert_with(|| Record { first_detected: Some(now), ..Record::default() });
        record.in_use = is_used;
        if is_used {
            record.last_used = Some(now);
        }
        record.id = Arc::clone(&image.id);
        if rules.gates.enabled(Gate::RuntimeClassInImageCriApi) {
            record.runtime_handler.clone_from(&image.runtime_handler);
        }
        record.size = image.size;
        record.pinned = image.pinned;
        record.is_listed = true;
    }
    records.retain(|_, record| record.is_listed);
}
