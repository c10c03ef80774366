//! The file system of the images: how full it is, and how full it shall be.

use super::ImageNode;
use kq_linux::cri::v1;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::File;
use std::path::PathBuf;

/// What the kernel says of the file system of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// All of it.
    pub capacity_bytes: u64,
    /// What is left for those who are not root.
    pub available_bytes: u64,
}

impl ImageNode {
    /// Returns where the runtime says that its images are.
    #[track_caller]
    pub fn mountpoint(&self) -> PathBuf {
        let request = v1::ImageFsInfoRequest {};
        let answer = self.runtime.call(self.runtime.images().image_fs_info(request));
        let answer = answer.expect("the runtime knows its file system");
        let [usage] = &answer.image_filesystems[..] else { panic!("{answer:?}") };
        PathBuf::from(&usage.fs_id.as_ref().expect("it has a mountpoint").mountpoint)
    }

    /// Returns how much room the images have.
    #[track_caller]
    pub fn disk(&self) -> Disk {
        let said = statvfs(self.folder.join("root")).expect("the file system can be asked");
        Disk {
            capacity_bytes: said.f_blocks * said.f_frsize,
            available_bytes: said.f_bavail * said.f_frsize,
        }
    }

    /// Takes or gives room beside the images, until the kubelet would say that so much is used.
    #[track_caller]
    pub fn fill(&self, percent: u64) {
        let path = self.folder.join("root/filling");
        let _ = std::fs::remove_file(&path);
        let disk = self.disk();
        // Half a percent more, in which the file system can have its blocks.
        let left = disk.capacity_bytes * (200 - 2 * percent + 1) / 200;
        let bytes = disk.available_bytes.checked_sub(left);
        let bytes = bytes.unwrap_or_else(|| panic!("more than {percent}% is used: {disk:?}"));
        let file = File::create(path).expect("a file can be made");
        fallocate(&file, FallocateFlags::empty(), 0, bytes).expect("there is room for it");
    }
}

impl Disk {
    /// Returns how much is used, as the kubelet counts it (`realImageGCManager.GarbageCollect`).
    pub fn usage_percent(self) -> u64 {
        100 - self.available_bytes * 100 / self.capacity_bytes
    }
}
