//! How the filesystems of images, containers and the kubelet lie to each other.
//!
//! Mirrors the three cases of `buildSignalToRankFunc` and `buildSignalToNodeReclaimFuncs` in
//! `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

/// What the kubelet finds out in its first cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    /// Images are not on the kubelet's filesystem.
    pub dedicated_image_fs: bool,
    /// Writable layers are not on the filesystem of the images.
    pub split_container_image_fs: bool,
}

/// What follows for reclaiming and ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disks {
    /// Everything is on one, or is treated so: without a dedicated filesystem for images the kubelet
    /// does not look at the split.
    One,
    /// Images and writable layers have one of their own.
    ImagesApart,
    /// Only images have one of their own.
    ImagesAndContainersApart,
}

impl Layout {
    /// Returns which of the kubelet's three cases this is.
    pub fn disks(self) -> Disks {
        match (self.dedicated_image_fs, self.split_container_image_fs) {
            (false, _) => Disks::One,
            (true, false) => Disks::ImagesApart,
            (true, true) => Disks::ImagesAndContainersApart,
        }
    }
}
