//! Which image a person means: an id, the start of one, a tag or a digest, as `crictl` takes them.
//!
//! A runtime first takes a name for a reference and then for the start of an id (`LocalResolve` in
//! containerd's `internal/cri/server/images/service.go`). What a reference leaves out is added as
//! everywhere (`ParseDockerRef` in `github.com/distribution/reference`): `nginx` is
//! `docker.io/library/nginx:latest`, and of a tag with a digest only the digest counts.

use crate::cycle::image_key;
use kq_facts::runtime::Image;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::nearest::nearest;
use kq_output::units::and_more;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fewer digits could be the start of anything.
const SHORTEST_START: usize = 4;

/// The number of candidates named at most.
const MOST_CANDIDATES: usize = 5;

/// Why a name is not that of one image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageNameError {
    /// There is no such image.
    #[error("no image of this node is {name:?}")]
    Unknown {
        /// As it was given.
        name: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
    /// There are several.
    #[error("{name:?} is {count} images of this node")]
    Ambiguous {
        /// As it was given.
        name: String,
        /// How many.
        count: usize,
        /// Some of them.
        candidates: Vec<String>,
    },
    /// It is the start of too many ids.
    #[error(
        "{name:?} is too short for the start of an id, of which at least {SHORTEST_START} digits are needed"
    )]
    Short {
        /// As it was given.
        name: String,
    },
}

/// The name of an image with everything that is usually left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    repository: String,
    /// `:TAG` or `@DIGEST`
    version: String,
}

/// Returns true if a name means an image, given with its key.
type IsMeant<'a> = &'a dyn Fn(&str, &Image) -> bool;

/// Returns the image that is meant. Where handlers distinguish images, `ID,HANDLER` names one.
/// Fails for a name of none and of several.
pub fn find_image<'a>(
    images: &'a [Image],
    name: &str,
    rules: KubeletRules,
) -> Result<&'a Image, ImageNameError> {
    let key = |image: &Image| image_key(image.id.as_str(), &image.runtime_handler, rules);
    // Of an image that is listed twice the last entry counts.
    let by_key: BTreeMap<Arc<str>, &Image> =
        images.iter().map(|image| (key(image), image)).collect();
    let of = |is_meant: IsMeant<'_>| -> Vec<&'a Image> {
        let meant = by_key.iter().filter(|(key, image)| is_meant(key, image));
        meant.map(|(_, image)| *image).collect()
    };
    let reference = Reference::parse(name);
    let wanted = name.to_ascii_lowercase();
    let start = digits(&wanted);
    let is_hex = !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_hexdigit());
    let ways: [IsMeant<'_>; 5] = [
        &|key, image| key == name || image.id == name || (is_hex && digits(&image.id) == wanted),
        &|_, image| {
            let mut names = image.repo_tags.iter().chain(&image.repo_digests);
            reference.is_some() && names.any(|name| Reference::parse(name) == reference)
        },
        &|_, image| {
            let mut digests = image.repo_digests.iter().filter_map(|name| name.split_once('@'));
            wanted.contains(':') && digests.any(|(_, digest)| digest == wanted)
        },
        &|_, image| {
            let given = if wanted.contains(':') { &*image.id } else { digits(&image.id) };
            is_hex && start.len() >= SHORTEST_START && given.starts_with(&wanted)
        },
        // The end of a name, from a whole word on.
        &|_, image| {
            !name.is_empty()
                && image.repo_tags.iter().any(|full| {
                    full.strip_suffix(name).is_some_and(|before| before.ends_with(['/', ':']))
                })
        },
    ];
    for is_meant in ways {
        match of(is_meant).as_slice() {
            [] => {}
            [only] => return Ok(only),
            several => {
                let named = several.iter().take(MOST_CANDIDATES);
                return Err(ImageNameError::Ambiguous {
                    name: name.to_owned(),
                    count: several.len(),
                    candidates: named.map(|image| candidate_text(image, &key(image))).collect(),
                });
            }
        }
    }
    if wanted.starts_with("sha256:") && start.len() < SHORTEST_START {
        return Err(ImageNameError::Short { name: name.to_owned() });
    }
    let nearest = near(images, name, reference.as_ref());
    Err(ImageNameError::Unknown { name: name.to_owned(), nearest })
}

impl ImageNameError {
    /// Returns the way out, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } if nearest.is_empty() => None,
            Self::Unknown { nearest, .. } => Some(format!("there is {}", nearest.join(", "))),
            Self::Ambiguous { candidates, count, .. } => {
                let more = and_more(count.saturating_sub(candidates.len()));
                Some(format!("they are {}{more}", candidates.join(", ")))
            }
            Self::Short { .. } => Some("kq gc images -o wide shows the ids".to_owned()),
        }
    }
}

impl Reference {
    /// Reads a name; `None`: it cannot be one.
    fn parse(text: &str) -> Option<Self> {
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest)),
            None => (text, None),
        };
        // A colon before the last slash is that of a port.
        let last = named.rfind('/').map_or(0, |slash| slash.saturating_add(1));
        let (path, tag) = match named.get(last..)?.split_once(':') {
            Some((end, tag)) => (format!("{}{end}", named.get(..last)?), Some(tag)),
            None => (named.to_owned(), None),
        };
        let is_host = |first: &str| {
            first.contains(['.', ':'])
                || first == "localhost"
                || first.chars().any(|letter| letter.is_ascii_uppercase())
        };
        let (host, path) = match path.split_once('/') {
            Some((host, path)) if is_host(host) => (host, path),
            _ => ("docker.io", path.as_str()),
        };
        if path.is_empty() {
            return None;
        }
        let repository = match host {
            "docker.io" | "index.docker.io" if !path.contains('/') => {
                format!("docker.io/library/{path}")
            }
            "index.docker.io" => format!("docker.io/{path}"),
            host => format!("{host}/{path}"),
        };
        let version = match (digest, tag) {
            (Some(digest), _) => format!("@{digest}"),
            (None, tag) => format!(":{}", tag.unwrap_or("latest")),
        };
        Some(Self { repository, version })
    }
}

/// Returns an id without the name of its hash.
fn digits(id: &str) -> &str {
    id.strip_prefix("sha256:").unwrap_or(id)
}

fn candidate_text(image: &Image, key: &str) -> String {
    match image.repo_tags.first() {
        Some(tag) => format!("{key} ({tag})"),
        None => key.to_owned(),
    }
}

/// Returns what may be meant by a name of none: other tags of the same, else what is written nearly so.
fn near(images: &[Image], name: &str, reference: Option<&Reference>) -> Vec<String> {
    let names = || images.iter().flat_map(|image| image.repo_tags.iter().map(String::as_str));
    let is_same = |tag: &&str| {
        let other = Reference::parse(tag);
        other.as_ref().map(|other| &other.repository) == reference.map(|wanted| &wanted.repository)
    };
    let same: Vec<String> =
        names().filter(is_same).take(MOST_CANDIDATES).map(str::to_owned).collect();
    if !same.is_empty() {
        return same;
    }
    // Who leaves something out is to be compared with names that leave it out as well.
    let short = |tag: &str| {
        let tag = tag.strip_prefix("docker.io/").unwrap_or(tag);
        tag.strip_prefix("library/").unwrap_or(tag).to_owned()
    };
    let bare = |tag: &str| {
        let last = tag.rfind('/').map_or(0, |slash| slash.saturating_add(1));
        match tag.get(last..).and_then(|end| end.find(':')) {
            Some(colon) => tag.get(..last.saturating_add(colon)).unwrap_or(tag).to_owned(),
            None => tag.to_owned(),
        }
    };
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let mut written: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for tag in names() {
        for form in [tag.to_owned(), short(tag), bare(&short(tag)), last(tag), last(&bare(tag))] {
            written.entry(form).or_default().insert(tag);
        }
    }
    let nearest = nearest(name, written.keys().map(String::as_str));
    let meant = nearest.and_then(|form| written.get(form)).into_iter().flatten();
    meant.take(MOST_CANDIDATES).map(|tag| (*tag).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::feature_gates::Gate;

    const NGINX: &str = "sha256:aaaa1111000000000000000000000000000000000000000000000000000000aa";
    const WEB: &str = "sha256:aaaa2222000000000000000000000000000000000000000000000000000000bb";
    const BARE: &str = "sha256:beef0000000000000000000000000000000000000000000000000000000000cc";
    const DIGEST: &str = "sha256:dddd0000000000000000000000000000000000000000000000000000000000dd";

    fn images() -> Vec<Image> {
        let image = |id: &str, tags: &[&str], digests: &[&str]| Image {
            id: id.to_owned(),
            repo_tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            repo_digests: digests.iter().map(|&digest| digest.to_owned()).collect(),
            ..Image::default()
        };
        let digest = format!("docker.io/library/nginx@{DIGEST}");
        vec![
            image(
                NGINX,
                &["docker.io/library/nginx:latest", "docker.io/library/nginx:1.25"],
                &[&digest],
            ),
            image(WEB, &["shop.test:5000/web/front:v2", "docker.io/shop/beef:latest"], &[]),
            image(BARE, &[], &[]),
        ]
    }

    #[test]
    fn names_mean_one_image() {
        let images = images();
        let rules = KubeletRules::default();
        for (name, expected) in [
            (NGINX, NGINX),
            (digits(NGINX), NGINX),
            ("aaaa1", NGINX),
            ("AAAA1", NGINX),
            ("sha256:aaaa2", WEB),
            ("nginx", NGINX),
            ("nginx:1.25", NGINX),
            ("library/nginx", NGINX),
            ("index.docker.io/nginx:latest", NGINX),
            ("docker.io/library/nginx", NGINX),
            ("shop.test:5000/web/front:v2", WEB),
            ("shop/beef", WEB),
            ("beef", BARE),
            (DIGEST, NGINX),
            (&format!("nginx@{DIGEST}"), NGINX),
            (&format!("nginx:9@{DIGEST}"), NGINX),
        ] {
            let found = find_image(&images, name, rules).map(|image| image.id.as_str());
            assert_eq!(found, Ok(expected), "{name}");
        }
    }

    #[test]
    fn names_of_none_and_of_several_are_refused() {
        let images = images();
        let rules = KubeletRules::default();
        for (name, expected, hint) in [
            (
                "aaaa",
                "\"aaaa\" is 2 images of this node",
                format!(
                    "they are {NGINX} (docker.io/library/nginx:latest), {WEB} \
                     (shop.test:5000/web/front:v2)"
                ),
            ),
            (
                "nginx:1.24",
                "no image of this node is \"nginx:1.24\"",
                "there is docker.io/library/nginx:latest, docker.io/library/nginx:1.25".to_owned(),
            ),
            (
                "ngnx",
                "no image of this node is \"ngnx\"",
                "there is docker.io/library/nginx:1.25, docker.io/library/nginx:latest".to_owned(),
            ),
            (
                "shop.test:5000/web/frnt:v2",
                "no image of this node is \"shop.test:5000/web/frnt:v2\"",
                "there is shop.test:5000/web/front:v2".to_owned(),
            ),
            (
                "frnt",
                "no image of this node is \"frnt\"",
                "there is shop.test:5000/web/front:v2".to_owned(),
            ),
            ("aaa", "no image of this node is \"aaa\"", String::new()),
            (
                "sha256:aaa",
                "\"sha256:aaa\" is too short for the start of an id, of which at least 4 digits are \
                 needed",
                "kq gc images -o wide shows the ids".to_owned(),
            ),
            ("", "no image of this node is \"\"", String::new()),
            ("@", "no image of this node is \"@\"", String::new()),
            ("/:", "no image of this node is \"/:\"", String::new()),
        ] {
            let error = find_image(&images, name, rules).expect_err(name);
            assert_eq!(error.to_string(), expected, "{name}");
            assert_eq!(error.hint().unwrap_or_default(), hint, "{name}");
        }
    }

    #[test]
    fn handlers_tell_images_apart_with_their_gate() {
        let image = |handler: &str, size| Image {
            id: NGINX.to_owned(),
            runtime_handler: handler.to_owned(),
            size,
            ..Image::default()
        };
        let images = [image("", 1), image("kata", 2), image("kata", 3)];
        let sizes = |name: &str, rules| {
            find_image(&images, name, rules).map(|image| image.size).map_err(|error| error.hint())
        };
        let off = KubeletRules::default();
        assert_eq!(sizes(NGINX, off), Ok(3), "the last entry of one image");
        let on = KubeletRules { gates: off.gates.with(Gate::RuntimeClassInImageCriApi, true) };
        assert_eq!(sizes(&format!("{NGINX},kata"), on), Ok(3));
        assert_eq!(sizes(NGINX, on), Err(Some(format!("they are {NGINX}, {NGINX},kata"))));
    }
}
