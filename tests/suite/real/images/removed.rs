//! What becomes of an image that is to be removed, and of those who use it: no version of containerd
//! refuses anything. A client that removes images must know which ones are needed.

use super::volumes::a_volume_does_not_keep_its_image;
use super::{ImageNode, User, UserState, on_each};
use kq_linux::cri::v1;

/// More than the database of a runtime grows by, and less than any layer.
const NEXT_TO_NOTHING: u64 = 64 << 10;

#[test]
fn an_image_goes_with_all_its_names_whoever_uses_it() {
    on_each(|node| {
        // First: what a container leaves behind is cleared away later.
        shared_layers_stay(node);
        let users = containers_name_their_image_by_its_id(node);
        a_volume_does_not_keep_its_image(node);
        users_do_not_keep_their_image(node, &users);
        neither_does_a_pin_keep_it(node);
        what_is_not_there_is_removed_with_success(node);
    });
}

/// The kubelet takes the reference in the list where there is no id (`toKubeContainer`,
/// `pkg/kubelet/kuberuntime/helpers.go`): it is the id, whatever the container was asked with. The one
/// in the status is a digest's where the image has one.
fn containers_name_their_image_by_its_id(node: &ImageNode) -> Vec<(&'static str, User)> {
    let mut users = Vec::new();
    for (image, state) in [
        ("two-tags", UserState::Running),
        ("app-2", UserState::Exited),
        ("moved-from", UserState::Created),
        ("digest-only", UserState::Created),
    ] {
        let made = node.made(image);
        let reference = made.tags.last().or(made.digests.first()).unwrap_or(&made.id);
        let user = node.run(image, reference, state);
        let listed = node.listed(&user.container);
        assert_eq!(&listed.image.expect("it has an image").image, reference, "{image}");
        assert_eq!(listed.image_ref, made.id, "{image}");
        assert_eq!(listed.image_id, "", "{image}: no version has it yet");
        let status = node.container_status(&user.container);
        assert_eq!(&status.image_ref, made.digests.first().unwrap_or(&made.id), "{image}");
        assert_eq!(status.image_id, "", "{image}: no version has it yet");
        users.push((image, user));
    }
    users
}

/// Running, ended or never started: the image goes. What a container has unpacked stays until it goes
/// as well.
fn users_do_not_keep_their_image(node: &ImageNode, users: &[(&str, User)]) {
    for (image, user) in users {
        let made = node.made(image);
        let state = node.container_status(&user.container).state;
        assert_eq!(node.remove_image(&made.id), Ok(()), "{image}");
        assert!(!node.has(image), "{image}");
        let names = node.ctr(&["images", "ls", "-q"]);
        for name in made.tags.iter().chain(&made.digests).chain([&made.id]) {
            assert!(!names.lines().any(|line| line == name), "{name} is still there");
        }
        let listed = node.listed(&user.container);
        assert_eq!((&listed.image_ref, listed.state), (&made.id, state), "{image}");
        let status = node.container_status(&user.container);
        assert_eq!((&status.image_ref, status.state), (&made.id, state), "{image}");
    }
    let available = node.disk().available_bytes;
    let [(_, running), (_, ended), others @ ..] = users else { panic!("{users:?}") };
    node.remove_container(running);
    node.remove_container(ended);
    for user in [running, ended].into_iter().chain(others.iter().map(|(_, user)| user)) {
        node.remove_pod(user);
    }
    // The layers of its own that the container which had ended kept.
    let freed = || node.disk().available_bytes.saturating_sub(available);
    node.wait_until("what the containers kept is gone", |_| freed() > 3072 << 10);
}

/// The size of an image is not what its removal frees: shared layers stay, and those of its own go
/// twice, as they came and unpacked.
fn shared_layers_stay(node: &ImageNode) {
    let freed_by = |image: &str| {
        let before = node.disk().available_bytes;
        assert_eq!(node.remove_image(&node.made(image).id), Ok(()), "{image}");
        node.disk().available_bytes.checked_sub(before).expect("nothing else is written")
    };
    let (same, last, own) = (freed_by("app-again"), freed_by("app-1"), freed_by("huge"));
    assert!(same < NEXT_TO_NOTHING, "{same}");
    assert!(last.abs_diff(2 * (512 << 10)) < NEXT_TO_NOTHING, "{last}");
    assert!(own.abs_diff(2 * (8192 << 10)) < NEXT_TO_NOTHING, "{own}");
}

fn neither_does_a_pin_keep_it(node: &ImageNode) {
    let pause = ["localhost/kq-pause:1".to_owned()];
    let images = node.images();
    let pause = images.values().find(|image| image.repo_tags == pause);
    let pause: &v1::Image = pause.expect("there is an image for sandboxes");
    for id in [&node.made("pinned").id, &pause.id] {
        assert_eq!(images[id].pinned, node.can_pin());
        assert_eq!(node.remove_image(id), Ok(()));
        assert!(!node.images().contains_key(id), "{id}");
    }
}

fn what_is_not_there_is_removed_with_success(node: &ImageNode) {
    let never = format!("sha256:{:064x}", 5);
    for reference in [&node.made("huge").id, &never, "localhost/kq/never:1", "no name at all"] {
        assert_eq!(node.remove_image(reference), Ok(()), "{reference}");
    }
    assert!(node.remove_image("").is_err());
    // By one of its names, or by the beginning of its id, it goes as a whole.
    let signed = node.made("signed");
    assert_eq!((signed.tags.len(), signed.digests.len()), (1, 1));
    assert_eq!((node.remove_image(&signed.tags[0]), node.has("signed")), (Ok(()), false));
    let names = node.ctr(&["images", "ls", "-q"]);
    assert!(!names.contains("localhost/kq/signed"), "{names}");
    let id = node.made("plain").id.trim_start_matches("sha256:");
    assert_eq!((node.remove_image(&id[..12]), node.has("plain")), (Ok(()), false));
}
