//! The runtime lists what was made, and kq reads what it lists.

use super::node::sorted;
use super::{ImageNode, PINNED, UserState, on_each};
use kq_io::trust::NamedBy;
use kq_linux::cri::{RuntimeNeeds, read_runtime, v1};
use rustix::fs::statvfs;
use std::path::Path;
use std::time::Duration;

#[test]
fn what_was_made_is_listed() {
    on_each(|node| {
        every_image_is_listed_as_it_was_made(node);
        the_reader_finds_the_same(node);
        the_disk_can_be_filled(node);
        images_outlive_the_runtime(node);
    });
}

fn every_image_is_listed_as_it_was_made(node: &ImageNode) {
    let images = node.images();
    for made in &node.catalogue.images {
        let image = &images[&made.id];
        let name = made.name;
        assert_eq!(sorted(&image.repo_tags), made.tags, "{name}");
        assert_eq!(image.repo_digests, made.digests, "{name}");
        assert_eq!(image.size, made.size, "{name}");
        // Containerd 1.6 has the field and never sets it.
        assert_eq!(image.pinned, name == PINNED.0 && node.can_pin(), "{name}");
        assert!(image.spec.as_ref().is_none_or(|spec| spec.runtime_handler.is_empty()), "{name}");
    }
    let own: Vec<(&str, bool)> = images
        .values()
        .filter(|image| node.catalogue.images.iter().all(|made| made.id != image.id))
        .map(|image| (image.repo_tags.first().map_or("", String::as_str), image.pinned))
        .collect();
    // The one that sandboxes are made of is pinned from the start.
    let mut expected =
        [("localhost/kq-busybox:1", false), ("localhost/kq-pause:1", node.can_pin())];
    expected.sort_by_key(|(tag, _)| own.iter().position(|(other, _)| other == tag));
    assert_eq!(own, expected);

    let nameless = [node.made("moved-from"), node.made("digest-only")];
    assert!(nameless.iter().all(|made| made.tags.is_empty()));
    let (first, again) = (node.made("app-1"), node.made("app-again"));
    assert_ne!(first.id, again.id, "the same layers, and yet another image");
}

fn the_reader_finds_the_same(node: &ImageNode) {
    let deadline = Duration::from_secs(60);
    let facts = read_runtime(
        &node.endpoint(),
        Path::new("/"),
        NamedBy::Operator,
        RuntimeNeeds::ALL,
        deadline,
    )
    .expect("the runtime answers");
    let found = facts.images.value().expect("there are images");
    let listed = node.images();
    assert_eq!(found.len(), listed.len());
    for image in found {
        let listed = &listed[&image.id];
        assert_eq!(image.repo_tags, listed.repo_tags);
        assert_eq!(image.repo_digests, listed.repo_digests);
        assert_eq!((image.size, image.pinned), (listed.size, listed.pinned), "{}", image.id);
    }
    let filesystems = facts.image_filesystems.value().expect("images are somewhere");
    let places: Vec<&str> = filesystems.image.iter().map(|it| it.mountpoint.as_str()).collect();
    let snapshots = node.folder.join("root/io.containerd.snapshotter.v1.overlayfs");
    assert_eq!(places, [snapshots.to_string_lossy()]);
    assert_eq!(filesystems.container, [], "no version says where containers are");
}

/// The kernel says the same of the folder that the runtime names as of the whole file system.
fn the_disk_can_be_filled(node: &ImageNode) {
    let said = statvfs(node.mountpoint()).expect("the folder of the images is there");
    let disk = node.disk();
    assert_eq!(said.f_blocks * said.f_frsize, disk.capacity_bytes);
    assert_eq!(said.f_bavail * said.f_frsize, disk.available_bytes);
    assert!(said.f_bavail < said.f_bfree, "some blocks are free and not available");
    for percent in [90, 75, 100] {
        node.fill(percent);
        assert_eq!(node.disk().usage_percent(), percent);
    }
}

fn images_outlive_the_runtime(node: &mut ImageNode) {
    let before = node.images();
    let user = node.run("survivor", &node.made("tiny").id, UserState::Running);
    node.kill();
    let error = node.remove_image(&node.made("tool").id).expect_err("nobody is there");
    assert!(!error.starts_with("no answer in"), "it was waited for: {error}");
    node.revive();
    let mut after = node.images();
    for (id, image) in &before {
        let again = after.remove(id).expect("the image is still there");
        assert_eq!(sorted(&again.repo_tags), sorted(&image.repo_tags), "{id}");
        assert_eq!((again.size, again.pinned), (image.size, image.pinned), "{id}");
    }
    assert_eq!(after.len(), 0, "{after:?}");
    let listed = node.listed(&user.container);
    assert_eq!(listed.state, v1::ContainerState::ContainerRunning as i32);
    assert_eq!(listed.image_ref, node.made("tiny").id);
}
