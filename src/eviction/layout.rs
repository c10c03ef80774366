//! The layout of the filesystems of images, containers and the kubelet.
//!
//! Mirrors the three cases of `buildSignalToRankFunc` and `buildSignalToNodeReclaimFuncs` in
//! `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

/// The layout, as the kubelet reads it in its first cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// Images are not on the kubelet's filesystem.
    pub dedicated_image_fs: bool,
    /// Writable layers are not on the filesystem of the images.
    pub split_container_image_fs: bool,
}

/// The case by which the kubelet reclaims and ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disks {
    /// One filesystem, or handled as one: without a dedicated filesystem for images the kubelet ignores the
    /// split.
    One,
    /// Images and writable layers have a filesystem of their own.
    ImagesApart,
    /// Only images have a filesystem of their own.
    ImagesAndContainersApart,
}

impl Layout {
    /// Returns the case of the layout.
    pub fn disks(self) -> Disks {
        match (self.dedicated_image_fs, self.split_container_image_fs) {
            (false, _) => Disks::One,
            (true, false) => Disks::ImagesApart,
            (true, true) => Disks::ImagesAndContainersApart,
        }
    }
}
