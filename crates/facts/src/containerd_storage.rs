//! The storage of images by containerd's own lists: the pieces,
//! and the images that hold each.
//!
//! containerd removes unreachable pieces. The roots and references are in `scanRoots`
//! and `references` of `core/metadata/gc.go` in containerd (`metadata/gc.go` before 2.0): the name of
//! an image leads to its target, labels of a blob to other blobs and to the snapshot that was unpacked
//! from it, a snapshot to its parent. What expires, or is held under a condition, is taken to be held:
//! kq rather promises too little.

use crate::runtime::{Image, ImageStorage, StoragePiece};
use std::collections::{BTreeMap, BTreeSet};

/// The labels of something, by key.
pub type Labels = BTreeMap<String, String>;

/// The contents of the namespace of Kubernetes, and those that other namespaces share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerdStorage {
    pub names: Vec<ImageName>,
    pub blobs: Vec<Blob>,
    /// The snapshots of all snapshotters that something leads to.
    pub snapshots: Vec<Snapshot>,
    /// The objects that leases hold.
    pub leased: Vec<Leased>,
    /// The blobs that another namespace has too: their bytes are stored once for all.
    pub elsewhere: BTreeSet<String>,
}

/// A name of an image. An image that the CRI lists once has several: with a tag, with a digest, its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageName {
    pub name: String,
    /// The digest of the blob to which it leads: a manifest, or an index of them.
    pub target: String,
    pub labels: Labels,
}

/// Something that was fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob {
    /// `sha256:...`
    pub digest: String,
    /// Its size.
    pub bytes: u64,
    pub labels: Labels,
}

/// A layer as it was unpacked, or what a container writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The snapshotter that has it.
    pub snapshotter: String,
    /// Its name there.
    pub name: String,
    /// The name of the one below it; empty: there is none.
    pub parent: String,
    /// Its size beyond its parent, as the snapshotter counts, if it is a finished layer; `None`:
    /// a process writes or reads it.
    pub bytes: Option<u64>,
    pub labels: Labels,
}

/// Something that a lease holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leased {
    /// `content`, `images`, `snapshots/NAME`, ...
    pub kind: String,
    /// Its digest or name.
    pub id: String,
    /// Only it is held, and not what its labels lead to.
    pub is_flat: bool,
}

/// Something that holds, or is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node<'a> {
    Name(&'a str),
    Blob(&'a str),
    /// The snapshotter and the name.
    Snapshot(&'a str, &'a str),
}

/// The graph of references.
#[derive(Default)]
struct Graph<'a> {
    /// By labels, and from names to targets.
    references: BTreeMap<Node<'a>, Vec<Node<'a>>>,
    /// From snapshots to parents, which is followed even where labels are not.
    parents: BTreeMap<Node<'a>, Node<'a>>,
    roots: Vec<Node<'a>>,
}

/// Returns the snapshotters to whose snapshots something leads.
pub fn snapshotters(storage: &ContainerdStorage) -> BTreeSet<String> {
    let labels = storage.blobs.iter().map(|blob| &blob.labels);
    let labels = labels.chain(storage.names.iter().map(|name| &name.labels));
    let labelled = labels.flat_map(Labels::keys).filter_map(|key| {
        let key = key.strip_prefix("containerd.io/gc.")?;
        key.strip_prefix("ref.snapshot.").or_else(|| key.strip_prefix("cond.snapshot."))
    });
    let named = labelled.filter_map(|rest| rest.split('/').next());
    let leased = storage.leased.iter().filter_map(|leased| leased.kind.strip_prefix("snapshots/"));
    named.chain(leased).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the pieces and who holds each: the images of the CRI by their ids, or something else.
pub fn image_storage(storage: &ContainerdStorage, images: &[Image]) -> ImageStorage {
    let graph = Graph::of(storage);
    let names_of = names_of(storage, images);
    let mut holders: BTreeMap<Node<'_>, Vec<&str>> = BTreeMap::new();
    for (&id, names) in &names_of {
        for node in graph.reach(names.iter().map(|name| Node::Name(name))) {
            // The ids come in order.
            holders.entry(node).or_default().push(id);
        }
    }
    let otherwise = held_otherwise(storage, &graph, &names_of);
    let piece = |node: Node<'_>, name: String, bytes, is_elsewhere: bool| StoragePiece {
        name,
        bytes,
        images: holders.get(&node).into_iter().flatten().map(|&id| id.to_owned()).collect(),
        held_otherwise: is_elsewhere || otherwise.contains(&node),
    };
    let blobs = storage.blobs.iter().map(|blob| {
        let is_elsewhere = storage.elsewhere.contains(&blob.digest);
        piece(Node::Blob(&blob.digest), blob.digest.clone(), blob.bytes, is_elsewhere)
    });
    // The writable layer of a container is not part of an image.
    let snapshots = storage.snapshots.iter().filter_map(|snapshot| {
        let name = format!("{}/{}", snapshot.snapshotter, snapshot.name);
        Some(piece(snapshot.node(), name, snapshot.bytes?, false))
    });
    let mut pieces: Vec<StoragePiece> = blobs.chain(snapshots).collect();
    pieces.sort_by(|a, b| a.name.cmp(&b.name));
    ImageStorage { pieces }
}

/// Returns the names of each image of the CRI, by its id.
///
/// These are removed with it. A name that the CRI does not list because it is no reference with a tag or
/// digest, such as `import-2026`, stays and keeps everything (seen with containerd 1.6.20).
fn names_of<'a>(
    storage: &'a ContainerdStorage,
    images: &'a [Image],
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let known: BTreeSet<&str> = storage.names.iter().map(|name| name.name.as_str()).collect();
    // One id may be listed for several classes of runtime.
    let mut names_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for image in images {
        let names = image.repo_tags.iter().chain(&image.repo_digests).chain([&image.id]);
        let names = names.map(String::as_str).filter(|name| known.contains(name));
        names_of.entry(&image.id).or_default().extend(names);
    }
    names_of
}

/// Returns the pieces that something other than an image of the CRI holds.
fn held_otherwise<'a>(
    storage: &'a ContainerdStorage,
    graph: &Graph<'a>,
    names_of: &BTreeMap<&str, BTreeSet<&str>>,
) -> BTreeSet<Node<'a>> {
    let ours: BTreeSet<&str> = names_of.values().flatten().copied().collect();
    let others = storage.names.iter().map(|name| name.name.as_str());
    let others = others.filter(|name| !ours.contains(name)).map(Node::Name);
    let leased = |is_flat| {
        let leased = storage.leased.iter().filter(move |leased| leased.is_flat == is_flat);
        leased.filter_map(Leased::node)
    };
    let mut held = graph.reach(graph.roots.iter().copied().chain(others).chain(leased(false)));
    for node in leased(true) {
        let parents = std::iter::successors(Some(node), |node| graph.parents.get(node).copied());
        // Parents that lead to themselves end the walk.
        for node in parents.take(storage.snapshots.len().saturating_add(1)) {
            held.insert(node);
        }
    }
    held
}

impl Snapshot {
    fn node(&self) -> Node<'_> {
        Node::Snapshot(&self.snapshotter, &self.name)
    }
}

impl Leased {
    fn node(&self) -> Option<Node<'_>> {
        match self.kind.as_str() {
            "content" => Some(Node::Blob(&self.id)),
            "images" => Some(Node::Name(&self.id)),
            // Images that are still being fetched are not in the lists.
            kind => Some(Node::Snapshot(kind.strip_prefix("snapshots/")?, &self.id)),
        }
    }
}

impl<'a> Graph<'a> {
    fn of(storage: &'a ContainerdStorage) -> Self {
        let mut graph = Self::default();
        for name in &storage.names {
            let node = Node::Name(&name.name);
            graph.references.entry(node).or_default().push(Node::Blob(&name.target));
            graph.add_labels(node, &name.labels);
        }
        for blob in &storage.blobs {
            graph.add_labels(Node::Blob(&blob.digest), &blob.labels);
        }
        for snapshot in &storage.snapshots {
            let node = snapshot.node();
            if !snapshot.parent.is_empty() {
                let parent = Node::Snapshot(&snapshot.snapshotter, &snapshot.parent);
                graph.parents.insert(node, parent);
            }
            if snapshot.bytes.is_none() {
                graph.roots.push(node);
            }
            graph.add_labels(node, &snapshot.labels);
        }
        graph
    }

    /// Adds the references in the labels of an object. Most keys end with a name without meaning.
    fn add_labels(&mut self, node: Node<'a>, labels: &'a Labels) {
        for (key, value) in labels {
            let Some(key) = key.strip_prefix("containerd.io/gc.") else { continue };
            let is = |word: &str| {
                key.strip_prefix(word)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
            };
            let of_snapshotter = |word: &str| key.strip_prefix(word)?.split('/').next();
            if key == "root" || key == "expire" || is("bref.container") {
                self.roots.push(node);
            } else if is("ref.content") {
                self.add(node, Node::Blob(value));
            } else if is("ref.image") {
                self.add(node, Node::Name(value));
            } else if let Some(snapshotter) = of_snapshotter("ref.snapshot.") {
                self.add(node, Node::Snapshot(snapshotter, value));
            } else if let Some(snapshotter) = of_snapshotter("cond.snapshot.") {
                let (_, name) = value.split_once('|').unwrap_or(("", value));
                self.add(node, Node::Snapshot(snapshotter, name));
            } else if is("bref.content") {
                self.add(Node::Blob(value), node);
            } else if is("bref.image") {
                self.add(Node::Name(value), node);
            } else if let Some(snapshotter) = of_snapshotter("bref.snapshot.") {
                self.add(Node::Snapshot(snapshotter, value), node);
            }
        }
    }

    fn add(&mut self, from: Node<'a>, to: Node<'a>) {
        self.references.entry(from).or_default().push(to);
    }

    /// Returns everything to which some nodes lead, and these.
    fn reach(&self, from: impl IntoIterator<Item = Node<'a>>) -> BTreeSet<Node<'a>> {
        let mut ahead: Vec<Node<'a>> = from.into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = ahead.pop() {
            if reached.insert(node) {
                ahead.extend(self.references.get(&node).into_iter().flatten());
                ahead.extend(self.parents.get(&node));
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let label =
            |(key, value): &(&str, &str)| (format!("containerd.io/gc.{key}"), (*value).to_owned());
        pairs.iter().map(label).collect()
    }

    fn name(name: &str, target: &str) -> ImageName {
        ImageName { name: name.to_owned(), target: target.to_owned(), labels: Labels::new() }
    }

    fn blob(digest: &str, bytes: u64, pairs: &[(&str, &str)]) -> Blob {
        Blob { digest: digest.to_owned(), bytes, labels: labels(pairs) }
    }

    fn snapshot(name: &str, parent: &str, bytes: Option<u64>) -> Snapshot {
        Snapshot {
            snapshotter: "overlayfs".to_owned(),
            name: name.to_owned(),
            parent: parent.to_owned(),
            bytes,
            labels: Labels::new(),
        }
    }

    /// Two images with a layer in common, as the CRI stores them.
    fn two() -> (ContainerdStorage, Vec<Image>) {
        let image = |id: &str, tag: &str| Image {
            id: id.to_owned(),
            repo_tags: vec![tag.to_owned()],
            ..Image::default()
        };
        let storage = ContainerdStorage {
            names: vec![
                name("one:1", "index"),
                name("c1", "index"),
                name("two:1", "m2"),
                name("c2", "m2"),
            ],
            blobs: vec![
                blob("index", 1, &[("ref.content.m.0", "m1"), ("ref.content.m.1", "not here")]),
                blob(
                    "m1",
                    2,
                    &[
                        ("ref.content.config", "c1"),
                        ("ref.content.l.0", "base"),
                        ("ref.content.l.1", "l1"),
                    ],
                ),
                blob(
                    "m2",
                    4,
                    &[
                        ("ref.content.config", "c2"),
                        ("ref.content.l.0", "base"),
                        ("ref.content.l.1", "l2"),
                    ],
                ),
                blob("c1", 8, &[("ref.snapshot.overlayfs", "top1")]),
                blob("c2", 16, &[("ref.snapshot.overlayfs", "top2")]),
                blob("base", 32, &[]),
                blob("l1", 64, &[]),
                blob("l2", 128, &[]),
            ],
            snapshots: vec![
                snapshot("below", "", Some(256)),
                snapshot("top1", "below", Some(512)),
                snapshot("top2", "below", Some(1024)),
            ],
            ..ContainerdStorage::default()
        };
        (storage, vec![image("c2", "two:1"), image("c1", "one:1")])
    }

    /// Returns the holders of a piece: ids, and `!` for something else.
    fn holders(storage: &ImageStorage, name: &str) -> String {
        let piece = storage.pieces.iter().find(|piece| piece.name == name);
        let piece = piece.unwrap_or_else(|| panic!("no piece {name}: {storage:?}"));
        format!("{}{}", piece.images.join(" "), if piece.held_otherwise { "!" } else { "" })
    }

    #[test]
    fn pieces_are_held_by_what_leads_to_them() {
        let (storage, images) = two();
        let pieces = image_storage(&storage, &images);
        let names: Vec<&str> = pieces.pieces.iter().map(|piece| piece.name.as_str()).collect();
        assert!(names.is_sorted() && names.len() == 11, "{names:?}");
        for (name, expected) in [
            ("index", "c1"),
            ("m1", "c1"),
            ("c1", "c1"),
            ("l1", "c1"),
            ("overlayfs/top1", "c1"),
            ("m2", "c2"),
            ("l2", "c2"),
            ("overlayfs/top2", "c2"),
            ("base", "c1 c2"),
            ("overlayfs/below", "c1 c2"),
        ] {
            assert_eq!(holders(&pieces, name), expected, "{name}");
        }
        assert_eq!(snapshotters(&storage), BTreeSet::from(["overlayfs".to_owned()]));
    }

    #[test]
    fn what_else_holds_a_piece_is_seen() {
        type Change = fn(&mut ContainerdStorage);
        let rows: [(&str, Change, &str, &str); 19] = [
            ("a name that the CRI does not list", |s| s.names.push(name("x", "m1")), "l1", "c1!"),
            ("the same, of another image", |s| s.names.push(name("x", "m1")), "l2", "c2"),
            ("a name that leads nowhere", |s| s.names.push(name("x", "gone")), "l1", "c1"),
            (
                "a container",
                |s| s.snapshots.push(snapshot("rw", "top1", None)),
                "overlayfs/below",
                "c1 c2!",
            ),
            (
                "a container and blobs",
                |s| s.snapshots.push(snapshot("rw", "top1", None)),
                "l1",
                "c1",
            ),
            ("another namespace", |s| s.elsewhere = BTreeSet::from(["l1".to_owned()]), "l1", "c1!"),
            ("and only that", |s| s.elsewhere = BTreeSet::from(["m1".to_owned()]), "l1", "c1"),
            ("a lease on content", |s| s.leased.push(leased("content", "m1", false)), "l1", "c1!"),
            (
                "and what it unpacked to",
                |s| s.leased.push(leased("content", "m1", false)),
                "overlayfs/top1",
                "c1!",
            ),
            ("a flat lease", |s| s.leased.push(leased("content", "m1", true)), "m1", "c1!"),
            (
                "a flat lease goes no further",
                |s| s.leased.push(leased("content", "m1", true)),
                "l1",
                "c1",
            ),
            (
                "a flat lease on a snapshot",
                |s| s.leased.push(leased("snapshots/overlayfs", "top1", true)),
                "overlayfs/below",
                "c1 c2!",
            ),
            (
                "a lease on an image",
                |s| s.leased.push(leased("images", "one:1", false)),
                "c1",
                "c1!",
            ),
            (
                "a lease on what is fetched",
                |s| s.leased.push(leased("ingests", "m1", false)),
                "m1",
                "c1",
            ),
            ("a root", |s| s.blobs[1].labels.extend(labels(&[("root", "now")])), "l1", "c1!"),
            ("what expires", |s| s.blobs[6].labels.extend(labels(&[("expire", "x")])), "l1", "c1!"),
            (
                "a child that names its parent",
                |s| s.blobs.push(blob("sig", 1, &[("bref.content.x", "m1")])),
                "sig",
                "c1",
            ),
            ("nobody", |s| s.blobs.push(blob("lost", 1, &[])), "lost", ""),
            (
                "a label that looks alike",
                |s| s.blobs[2].labels.extend(labels(&[("ref.contents", "l1")])),
                "l1",
                "c1",
            ),
        ];
        for (case, change, piece, expected) in rows {
            let (mut storage, images) = two();
            change(&mut storage);
            assert_eq!(holders(&image_storage(&storage, &images), piece), expected, "{case}");
        }
    }

    fn leased(kind: &str, id: &str, is_flat: bool) -> Leased {
        Leased { kind: kind.to_owned(), id: id.to_owned(), is_flat }
    }

    #[test]
    fn circles_end() {
        let (mut storage, images) = two();
        storage.snapshots[0].parent = "top1".to_owned();
        storage.leased.push(leased("snapshots/overlayfs", "top2", true));
        storage.blobs[5].labels = labels(&[("ref.content.0", "m1"), ("bref.image", "one:1")]);
        let pieces = image_storage(&storage, &images);
        assert_eq!(holders(&pieces, "m1"), "c1 c2");
        assert_eq!(holders(&pieces, "overlayfs/top1"), "c1 c2!");
    }

    #[test]
    fn an_image_for_two_handlers_is_one() {
        let (storage, mut images) = two();
        images.push(Image { runtime_handler: "kata".to_owned(), ..images[1].clone() });
        assert_eq!(holders(&image_storage(&storage, &images), "l1"), "c1");
    }
}
