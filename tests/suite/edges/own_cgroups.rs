//! Cgroups of the tests' own in the kernel's hierarchies of v1, removed however a test ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A cgroup of the same name in some hierarchies.
pub struct OwnCgroups {
    path: String,
    folders: Vec<PathBuf>,
}

impl OwnCgroups {
    /// Makes one below the root of each mount. Only root can.
    pub fn new(mounts: &[&String], name: &str) -> io::Result<Self> {
        let path = format!("/kq-{name}-{}", std::process::id());
        let mut own = Self { path, folders: Vec::new() };
        for mount in mounts {
            let folder = Path::new(mount).join(own.path.trim_start_matches('/'));
            fs::create_dir(&folder)?;
            own.folders.push(folder);
        }
        Ok(own)
    }

    /// Returns its path below the root.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for OwnCgroups {
    fn drop(&mut self) {
        for folder in &self.folders {
            // The kernel may still be busy with what was in it.
            for _ in 0..50 {
                remove(folder);
                if !folder.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
