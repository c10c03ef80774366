//! Files that a kubelet tries to read in several layouts: the first readable one with the right checksum
//! counts.

use super::go_dump::{Fnv32, GoDump, PreImage};
use kq_k8s::feature_gates::Gate;
use kq_k8s::go_json::{GoJsonError, GoValue, decode};
use kq_k8s::kubelet_rules::KubeletRules;
use std::fmt::{Debug, Display};

/// The layouts of the CPU and memory managers' files that a kubelet reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownLayouts {
    /// Those before 1.36.
    BeforePods,
    /// Those without the gate PodLevelResourceManagers.
    #[default]
    WithoutPods,
    /// With the allocations of pods as a whole too, by the gate PodLevelResourceManagers.
    WithPods,
}

impl KnownLayouts {
    /// Returns the layouts that a kubelet with these rules reads.
    pub fn of(rules: &KubeletRules) -> Self {
        if rules.gates.enabled(Gate::PodLevelResourceManagers) {
            Self::WithPods
        } else if rules.has_state_files_of_pods() {
            Self::WithoutPods
        } else {
            Self::BeforePods
        }
    }

    /// Returns true if the newest layout is one with pods as a whole.
    pub fn has_pods(self) -> bool {
        self == Self::WithPods
    }
}

/// The content of a file in a layout.
pub trait Layered {
    type Layout: Copy + Debug + Display + Eq;

    /// The name that all layouts have in the text that is hashed.
    const TYPE_NAME: &'static str;

    /// The name under which a kubelet without the gate PodLevelResourceManagers accepts the layout before the newest
    /// as well.
    const LEGACY_TYPE_NAME: &'static str;

    fn checksum_in_file(&self) -> u64;

    /// Adds the text that is hashed.
    fn dump<P: PreImage + ?Sized>(&self, layout: Self::Layout, type_name: &str, out: &mut P);

    /// Returns the checksum that the content has.
    fn checksum(&self, layout: Self::Layout, type_name: &str) -> u32 {
        let mut sum = Fnv32::default();
        self.dump(layout, type_name, &mut sum);
        sum.sum()
    }

    /// Returns the text that is hashed.
    fn pre_image(&self, layout: Self::Layout) -> String {
        let mut text = String::new();
        self.dump(layout, Self::TYPE_NAME, &mut text);
        text
    }
}

/// The result of reading the file in one layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt<C: Layered> {
    pub layout: C::Layout,
    pub content: C,
    /// Why the content is not whole.
    pub error: Option<String>,
    /// The checksum that the content has.
    pub checksum_computed: u32,
    /// Another checksum that is accepted: the one under the older type name.
    pub also_accepted: Option<u32>,
    /// A file without a checksum is not accepted; those of the time before checksums have none.
    needs_checksum: bool,
}

/// The result of reading the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load<C: Layered, S, E> {
    /// Every layout that this kubelet knows, in its order; also those after the accepted one.
    pub attempts: Vec<Attempt<C>>,
    /// The layout that it took.
    pub taken: Option<C::Layout>,
    /// The state with which it starts; `None`: it does not start.
    pub outcome: Result<S, E>,
    /// The contents of the file, whether or not the kubelet accepts its checksum and policy.
    pub shown: Option<S>,
}

impl<C: Layered> Attempt<C> {
    /// Judges what was read. `legacy`: the older type name is accepted, too.
    pub(super) fn of(
        layout: C::Layout,
        (content, error): (C, Option<String>),
        legacy: bool,
        needs_checksum: bool,
    ) -> Self {
        Self {
            layout,
            error,
            checksum_computed: content.checksum(layout, C::TYPE_NAME),
            also_accepted: legacy.then(|| content.checksum(layout, C::LEGACY_TYPE_NAME)),
            content,
            needs_checksum,
        }
    }

    pub fn checksum_in_file(&self) -> u64 {
        self.content.checksum_in_file()
    }

    /// Returns true if the kubelet accepts the file in this layout.
    pub fn is_accepted(&self) -> bool {
        let in_file = self.checksum_in_file();
        let is_right = |sum: u32| u64::from(sum) == in_file;
        self.error.is_none()
            && ((in_file == 0 && !self.needs_checksum)
                || is_right(self.checksum_computed)
                || self.also_accepted.is_some_and(is_right))
    }

    /// Returns the text that the checksum is made of.
    pub fn pre_image(&self) -> String {
        self.content.pre_image(self.layout)
    }
}

impl<C: Layered, S, E> Load<C, S, E> {
    /// Uses the first accepted layout. `restore` makes the kubelet's state of the attempt at a
    /// place, for the configured policy if there is one; of none, its refusal.
    pub(super) fn new(
        attempts: Vec<Attempt<C>>,
        policy: Option<&str>,
        restore: impl Fn(&[Attempt<C>], Option<usize>, Option<&str>) -> Result<S, E>,
    ) -> Self {
        let taken = attempts.iter().position(Attempt::is_accepted);
        let whole = attempts.iter().position(|attempt| attempt.error.is_none());
        let outcome = restore(&attempts, taken, policy);
        let shown = restore(&attempts, taken.or(whole), None).ok();
        Self { taken: taken.map(|at| attempts[at].layout), attempts, outcome, shown }
    }

    /// Returns the layout that it took, if the file has a checksum, which proves it.
    pub fn signed(&self) -> Option<C::Layout> {
        self.taken().filter(|attempt| attempt.checksum_in_file() != 0).map(|attempt| attempt.layout)
    }

    /// Returns the attempt that the kubelet took.
    pub fn taken(&self) -> Option<&Attempt<C>> {
        self.attempts.iter().find(|attempt| Some(attempt.layout) == self.taken)
    }
}

/// Prints what all layouts have around their fields; a checksum is made with the checksum 0.
pub(super) fn dump_checkpoint<P: PreImage + ?Sized>(
    out: &mut P,
    type_name: &str,
    policy: &str,
    fields: impl FnOnce(&mut GoDump<'_, P>),
) {
    let mut dump = GoDump::new(out);
    for piece in ["(*state.", type_name, "){PolicyName:"] {
        dump.mark(piece);
    }
    dump.scalar("string", policy);
    fields(&mut dump);
    dump.mark(" Checksum:");
    dump.number("checksum.Checksum", 0);
    dump.mark("}");
}

/// Reads a file into the kubelet's prepared value, and returns why it is incomplete.
pub(super) fn read_file<T: GoValue + Default>(bytes: &[u8]) -> (T, Option<String>) {
    read_file_into(T::default(), bytes)
}

/// Reads a file into a value that has something already.
pub(super) fn read_file_into<T: GoValue + Default>(
    mut value: T,
    bytes: &[u8],
) -> (T, Option<String>) {
    match decode(bytes, &mut value) {
        Ok(()) => (value, None),
        // Go checks the whole text before it changes the value.
        Err(GoJsonError::Syntax(error)) => (T::default(), Some(error.to_string())),
        Err(error) => (value, Some(error.to_string())),
    }
}
