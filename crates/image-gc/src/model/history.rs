//! Made-up histories: what happened to images, when the kubelet looked, and when kq did.

use crate::cycle::{ImageUser, Keys, ListedImage, Records, detect};
use crate::record::record;
use crate::uses::listed;
use kq_facts::image_records::ImageRecords;
use kq_facts::runtime::Image;
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::version::KubeletVersion;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

/// What happened to images from the beginning until now. All times are in seconds.
#[derive(Clone, Debug)]
pub struct History {
    /// When the kubelet started.
    pub start: i64,
    /// When it detected the images, without the present detection.
    pub detections: Vec<i64>,
    /// When kq looked.
    pub looks: Vec<i64>,
    /// When the question is asked, and the kubelet looks again.
    pub now: i64,
    /// The images.
    pub lives: Vec<Life>,
}

/// The life of one image.
#[derive(Clone, Debug)]
pub struct Life {
    /// When it was pulled first.
    pub pulled: i64,
    /// Between these it was gone.
    pub gone: Option<(i64, i64)>,
    /// When there were containers of it.
    pub uses: Vec<(i64, i64)>,
    /// In bytes.
    pub size: u64,
    /// The runtime wants it kept.
    pub pinned: bool,
}

/// What an image is at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    Gone,
    Unused,
    Used,
}

/// The kubelet's own data.
pub fn rules() -> KubeletRules {
    KubeletRules::for_version(KubeletVersion::ASSUMED)
}

/// Returns how often a property is tried. What fails is printed and not stored.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Returns a moment of a history.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(second)
}

impl Life {
    /// Returns what it is at a time.
    pub fn state(&self, second: i64) -> Is {
        let is_within = |(from, to): &(i64, i64)| (*from..*to).contains(&second);
        if second < self.pulled || self.gone.iter().any(is_within) {
            Is::Gone
        } else if self.uses.iter().any(is_within) {
            Is::Used
        } else {
            Is::Unused
        }
    }

    /// Returns the times at which it became something else.
    fn turns(&self) -> impl Iterator<Item = i64> {
        let ends = self.uses.iter().chain(&self.gone).flat_map(|(from, to)| [*from, *to]);
        ends.chain([self.pulled])
    }

    /// Returns when the oldest of the containers was created that are removed just now.
    pub fn created(&self, now: i64) -> Option<Timestamp> {
        let dead = self.uses.iter().filter(|(_, to)| *to == now).map(|(from, _)| *from);
        // A container does not say anything of an image that was taken away from under it.
        dead.filter(|from| self.gone.is_none_or(|(gone, back)| back <= *from || now <= gone))
            .min()
            .map(at)
    }

    fn image(&self, id: &str) -> Image {
        Image { id: id.to_owned(), size: self.size, pinned: self.pinned, ..Image::default() }
    }
}

impl History {
    /// Returns the images at a time, under ids of one's own.
    pub fn images(&self, second: i64, id: impl Fn(usize) -> String) -> Vec<Image> {
        let there =
            self.lives.iter().enumerate().filter(|(_, life)| life.state(second) != Is::Gone);
        there.map(|(index, life)| life.image(&id(index))).collect()
    }

    /// Returns the ids of those in use at a time.
    pub fn in_use(&self, second: i64, id: impl Fn(usize) -> String) -> Keys {
        let used = self.lives.iter().enumerate().filter(|(_, life)| life.state(second) == Is::Used);
        used.map(|(index, _)| id(index).into()).collect()
    }

    /// Returns the containers at a time.
    pub fn users(&self, second: i64, id: impl Fn(usize) -> String) -> Vec<ImageUser> {
        let user = |image_id| ImageUser { image_id, ..ImageUser::default() };
        self.in_use(second, id).into_iter().map(user).collect()
    }

    /// Returns what the kubelet remembers before it looks now.
    pub fn memory(&self, id: impl Fn(usize) -> String + Copy) -> Records {
        let mut records = Records::default();
        for &second in &self.detections {
            let images: Vec<ListedImage> = listed(&self.images(second, id));
            let in_use = self.in_use(second, id);
            detect(&mut records, &images, &in_use, at(second), rules());
        }
        records
    }

    /// Returns what kq recorded.
    pub fn records(&self) -> Option<ImageRecords> {
        self.looks.iter().fold(None, |before, &second| {
            let (images, in_use) = (self.images(second, name), self.in_use(second, name));
            let after = record(before.as_ref(), at(second), &images, &in_use);
            Some(after.expect("the clock goes on"))
        })
    }

    /// Returns true if everything was as it is taken to be where kq answers from its records.
    pub fn is_as_assumed(&self) -> bool {
        self.lives.iter().all(|life| self.nothing_is_missed(life) && self.kubelet_saw_it_go(life))
    }

    /// Nothing was so only between two looks that are not far apart.
    fn nothing_is_missed(&self, life: &Life) -> bool {
        let mut looks = self.looks.clone();
        looks.push(self.now);
        looks.windows(2).filter(|pair| pair[1] - pair[0] <= 600).all(|pair| {
            let (before, after) = (life.state(pair[0]), life.state(pair[1]));
            let is_between = |turn: &i64| pair[0] < *turn && *turn < pair[1];
            life.turns().filter(is_between).all(|turn| match life.state(turn) {
                Is::Used => before == Is::Used || after == Is::Used,
                Is::Gone => before == Is::Gone || after == Is::Gone,
                Is::Unused => before != Is::Used || after != Is::Used,
            })
        })
    }

    /// The kubelet looked while it was gone, if it ever saw it before.
    fn kubelet_saw_it_go(&self, life: &Life) -> bool {
        let Some((gone, back)) = life.gone else { return true };
        let saw_before = self.detections.iter().any(|&second| second < gone);
        !saw_before || self.detections.iter().any(|second| (gone..back).contains(second))
    }
}

/// The name of an image.
pub fn name(index: usize) -> String {
    format!("image-{index}")
}

/// Makes up a history.
pub fn history() -> impl Strategy<Value = History> {
    let kubelet = (0..4_000_i64, vec(0..15_i64, 60), vec(0..15_i64, 60), 0..12_000_i64);
    let gap = prop_oneof![6 => 60..=600_i64, 2 => Just(300_i64), 1 => 601..5_000_i64];
    let kq = (0..6_000_i64, vec(gap, 0..40), 0..3_usize);
    (kubelet, kq).prop_flat_map(|((start, first, second, up), (begin, gaps, forgotten))| {
        let now = start + up;
        let mut detections = loop_of(start + first[0], &first, now);
        // The other loop, which takes its own time.
        detections.extend(loop_of(start + second[1], &second, now));
        detections.sort_unstable();
        let mut looks: Vec<i64> = gaps
            .iter()
            .scan(begin, |next, gap| Some(std::mem::replace(next, *next + gap)))
            .filter(|look| *look <= now)
            .collect();
        looks.truncate(looks.len().saturating_sub(forgotten));
        vec(life(now), 1..6).prop_map(move |lives| History {
            start,
            detections: detections.clone(),
            looks: looks.clone(),
            now,
            lives,
        })
    })
}

/// Returns when a loop turns that waits five minutes each time, and takes a while.
fn loop_of(first: i64, late: &[i64], now: i64) -> Vec<i64> {
    let next = |next: &mut i64, late: &i64| Some(std::mem::replace(next, *next + 300 + late));
    late.iter().scan(first, next).filter(|second| *second < now).collect()
}

fn life(now: i64) -> impl Strategy<Value = Life> {
    let length = prop_oneof![1 => 1..300_i64, 3 => 300..6_000_i64];
    let uses = vec((0..now + 1, length), 0..4);
    let gone = weighted(0.3, (0..now + 1, prop_oneof![1..300_i64, 300..3_000_i64]));
    let pulled = prop_oneof![Just(-1), 0..now + 1];
    let until_now = proptest::bool::weighted(0.1);
    let size = prop_oneof![1 => Just(0_u64), 9 => 1..400_u64];
    (pulled, gone, uses, until_now, size, proptest::bool::weighted(0.05)).prop_map(
        move |(pulled, gone, uses, until_now, size, pinned)| {
            let mut uses: Vec<(i64, i64)> = uses
                .into_iter()
                .map(|(from, length)| (from.max(pulled), from.max(pulled) + length))
                .collect();
            if let Some(last) = uses.last_mut().filter(|(from, _)| until_now && *from < now) {
                last.1 = now;
            }
            let gone = gone.map(|(from, length)| (from.max(pulled), from.max(pulled) + length));
            Life { pulled, gone, uses, size, pinned }
        },
    )
}
