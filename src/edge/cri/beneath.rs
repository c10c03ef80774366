//! Paths of the node as kq sees them: beneath the folder where the node's root is.
//!
//! Links are followed as the node would: one that begins at the root begins at the node's. Without
//! that `/var/run -> /run` would leave the node when kq runs in a container with the node at `/host`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Returns where a path of the node really is.
pub(in crate::edge) fn resolve(host_root: &Path, path: &Path) -> io::Result<PathBuf> {
    // What is still to be walked, last part first, and how deep the walk is beneath the root.
    let mut rest = parts(path);
    let mut walked: Vec<PathBuf> = vec![host_root.to_owned()];
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            // Above the root is the root.
            walked.truncate(walked.len().max(2) - 1);
            continue;
        }
        let here = walked.last().map_or_else(|| host_root.join(&part), |at| at.join(&part));
        match fs::symlink_metadata(&here)?.is_symlink() {
            true if links == MAX_LINKS => return Err(io::Error::other("too many links")),
            true => {
                links += 1;
                let target = fs::read_link(&here)?;
                if target.is_absolute() {
                    walked.truncate(1);
                }
                rest.extend(parts(&target));
            }
            false => walked.push(here),
        }
    }
    Ok(walked.pop().unwrap_or_else(|| host_root.to_owned()))
}

/// Returns the parts of a path below the root, last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let walked = path.components().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(PathBuf::from(component.as_os_str())),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<PathBuf> = walked.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_on_the_node() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let root = root.path();
        fs::create_dir_all(root.join("run/crio")).expect("a folder can be made");
        fs::create_dir_all(root.join("var")).expect("a folder can be made");
        fs::write(root.join("run/crio/crio.sock"), "").expect("a file can be written");
        for (link, target) in [
            ("var/run", "/run"),
            ("var/relative", "../run/crio"),
            ("var/above", "../../../../run"),
            ("var/circle", "/var/circle"),
            ("var/nowhere", "/etc/hostname"),
        ] {
            symlink(target, root.join(link)).expect("a link can be made");
        }
        let rows = [
            ("plain", "/run/crio/crio.sock", true),
            ("a link from the root", "/var/run/crio/crio.sock", true),
            ("a relative link", "/var/relative/crio.sock", true),
            ("a link above the root", "/var/above/crio/crio.sock", true),
            ("up again", "/var/../run/./crio/crio.sock", true),
            ("above the root", "/../../run/crio/crio.sock", true),
            ("a circle", "/var/circle", false),
            ("what only kq's own root has", "/var/nowhere", false),
            ("absent", "/run/crio/other.sock", false),
        ];
        for (name, path, is_found) in rows {
            match resolve(root, Path::new(path)) {
                Ok(found) if is_found => {
                    assert_eq!(found, root.join("run/crio/crio.sock"), "{name}");
                }
                other => assert!(!is_found && other.is_err(), "{name}: {other:?}"),
            }
        }
    }
}
