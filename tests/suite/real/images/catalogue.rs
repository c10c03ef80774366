//! The images that every node of images has.

use super::archive::{Archive, Stored};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A layer below several images.
const BASE: (&str, usize) = ("base", 1024);

/// Another one.
const LIBRARIES: (&str, usize) = ("libraries", 2048);

/// An image as it is to be.
struct Wanted {
    /// What the tests call it.
    name: &'static str,
    /// Names and sizes in KiB.
    layers: &'static [(&'static str, usize)],
    tags: &'static [&'static str],
    /// The repositories in which it also has a reference with a digest.
    repositories: &'static [&'static str],
}

/// The images that are imported first.
const FIRST: &[Wanted] = &[
    tagged("app-1", &[BASE, ("app-1", 512)], &["localhost/kq/app:1"]),
    tagged("app-2", &[BASE, ("app-2", 3072)], &["localhost/kq/app:2"]),
    // The layers of another image and nothing else: its removal frees next to nothing.
    tagged("app-again", &[BASE, ("app-1", 512)], &["localhost/kq/app:again"]),
    tagged("two-tags", &[BASE, ("two", 1024)], &["localhost/kq/web:1", "localhost/kq/web:stable"]),
    tagged("tiny", &[("tiny", 200)], &["localhost/kq/tiny:1"]),
    tagged("huge", &[("huge", 8192)], &["localhost/kq/huge:1"]),
    tagged("plain", &[("plain", 2048)], &["localhost/kq/plain:1"]),
    tagged("db", &[LIBRARIES, ("db", 4096)], &["localhost/kq/db:1"]),
    tagged("cache", &[LIBRARIES, ("cache", 256)], &["localhost/kq/cache:1"]),
    tagged("tool", &[BASE, ("middle", 512), ("tool", 300)], &["localhost/kq/tool:1"]),
    tagged(PINNED.0, &[BASE, ("pinned", 600)], &[PINNED.1]),
    tagged(MOVED, &[("moved-from", 450)], &["localhost/kq/moved:1"]),
    Wanted {
        name: "signed",
        layers: &[BASE, ("signed", 350)],
        tags: &["localhost/kq/signed:1"],
        repositories: &["localhost/kq/signed"],
    },
    Wanted {
        name: "digest-only",
        layers: &[BASE, ("digest-only", 700)],
        tags: &[],
        repositories: &["localhost/kq/digest"],
    },
];

/// The images that are imported after them.
const THEN: &[Wanted] = &[tagged("moved-to", &[("moved-to", 400)], &["localhost/kq/moved:1"])];

/// The image whose tag is another's in the end.
pub const MOVED: &str = "moved-from";

/// The image that is marked as pinned, and its tag.
pub const PINNED: (&str, &str) = ("pinned", "localhost/kq/pinned:1");

/// The images, ready to be imported.
pub struct Catalogue {
    /// The archives, in the order in which they are to be imported.
    pub archives: [PathBuf; 2],
    /// The images as they are when both are imported.
    pub images: Vec<Made>,
}

/// An image that was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// What the tests call it.
    pub name: &'static str,
    /// The CRI's id of it.
    pub id: String,
    /// What it says of its size: shared layers count in full.
    pub size: u64,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// Its references with a digest.
    pub digests: Vec<String>,
}

impl Catalogue {
    /// Makes the images, always the same, and writes the archives into a folder.
    pub fn make(folder: &Path) -> std::io::Result<Self> {
        let archives = [folder.join("first.tar"), folder.join("then.tar")];
        let mut images = Vec::new();
        for (wanted, path) in [FIRST, THEN].into_iter().zip(&archives) {
            let mut archive = Archive::default();
            for wanted in wanted {
                let made = wanted.made(&archive.add(wanted.name, wanted.layers), &mut archive);
                for earlier in &mut images {
                    lose_tags(earlier, &made.tags);
                }
                images.push(made);
            }
            File::create(path)?.write_all(&archive.into_tar())?;
        }
        Ok(Self { archives, images })
    }
}

impl Wanted {
    fn made(&self, stored: &Stored, archive: &mut Archive) -> Made {
        let tags: Vec<String> = self.tags.iter().map(|&tag| tag.to_owned()).collect();
        let digests: Vec<String> =
            self.repositories.iter().map(|name| format!("{name}@{}", stored.digest)).collect();
        for name in tags.iter().chain(&digests) {
            archive.name(stored, name);
        }
        Made { name: self.name, id: stored.id.clone(), size: stored.size, tags, digests }
    }
}

const fn tagged(
    name: &'static str,
    layers: &'static [(&'static str, usize)],
    tags: &'static [&'static str],
) -> Wanted {
    Wanted { name, layers, tags, repositories: &[] }
}

/// A tag is one image's at a time.
fn lose_tags(image: &mut Made, others: &[String]) {
    image.tags.retain(|tag| !others.contains(tag));
}
