//! What is asked of a runtime.

/// Which facts are wanted; the version is always asked for. Everything costs a call, and the lists
/// cost what they are long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeWants {
    /// The cgroup driver.
    pub cgroup_driver: bool,
    /// The program that creates containers, which is run once for its version.
    pub low_level: bool,
    /// The sandboxes of pods.
    pub sandboxes: bool,
    /// The containers, ended ones too.
    pub containers: bool,
    /// The images.
    pub images: bool,
    /// The file systems of images and containers.
    pub image_filesystems: bool,
}

impl RuntimeWants {
    /// Everything.
    pub const ALL: Self = Self {
        cgroup_driver: true,
        low_level: true,
        sandboxes: true,
        containers: true,
        images: true,
        image_filesystems: true,
    };
}
