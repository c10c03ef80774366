//! Which flags a version of the kubelet has.

use super::table::{DEPRECATIONS, FLAGS};
use kq_k8s::version::KubeletVersion;

/// A flag that kubelets have, in some of the known versions at least.
#[derive(Clone, Copy, Debug)]
pub struct KnownFlag {
    /// The type of its value, as `pflag` names it: `bool`, `int32`, `mapStringString`.
    pub value_type: &'static str,
    states: &'static [u8; KubeletVersion::COUNT],
}

/// A flag as a version has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagState {
    /// An empty file.
    Current,
    /// It is deprecated, and why.
    Deprecated(&'static str),
}

/// Returns a flag by its name without dashes.
pub fn known_flag(name: &str) -> Option<KnownFlag> {
    let at = FLAGS.binary_search_by_key(&name, |(known, ..)| known).ok()?;
    let (_, value_type, states) = FLAGS[at];
    Some(KnownFlag { value_type, states })
}

/// Returns the names of the flags of a version.
pub fn flag_names(version: KubeletVersion) -> impl Iterator<Item = &'static str> {
    let there = move |states: &[u8; KubeletVersion::COUNT]| states[version.column()] != b'.';
    FLAGS.iter().filter(move |(.., states)| there(states)).map(|(name, ..)| *name)
}

impl KnownFlag {
    /// Returns the flag as a version has it; `None`: the version does not have it.
    pub fn state(&self, version: KubeletVersion) -> Option<FlagState> {
        match self.states[version.column()] {
            b'.' => None,
            b'+' => Some(FlagState::Current),
            digit => DEPRECATIONS
                .get(usize::from(digit.wrapping_sub(b'0')))
                .map(|text| FlagState::Deprecated(text)),
        }
    }

    /// Returns the last minor version that has it, unless the newest one does.
    pub fn until(&self) -> Option<u32> {
        let last = self.states.iter().rposition(|state| *state != b'.')?;
        (last + 1 < self.states.len())
            .then(|| KubeletVersion::OLDEST.minor + u32::try_from(last).unwrap_or_default())
    }

    /// Returns true if it is true when set without a value.
    pub fn is_switch(&self) -> bool {
        matches!(self.value_type, "bool" | "version")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_and_go_with_versions() {
        assert!(FLAGS.is_sorted_by(|left, right| left.0 < right.0));
        let minors = |name: &str| -> String {
            let flag = known_flag(name).expect("a flag");
            (32..=37)
                .map(|minor| match flag.state(KubeletVersion::new(1, minor)) {
                    None => '.',
                    Some(FlagState::Current) => '+',
                    Some(FlagState::Deprecated(_)) => 'd',
                })
                .collect()
        };
        for (name, expected, until) in [
            ("config", "++++++", None),
            ("max-pods", "dddddd", None),
            ("cloud-config", "dd....", Some(33)),
            ("register-schedulable", "dd....", Some(33)),
            ("pod-infra-container-image", "ddd...", Some(34)),
            ("boot-id-file", "ddddd.", Some(36)),
            ("housekeeping-interval", "++++++", None),
        ] {
            assert_eq!(minors(name), expected, "{name}");
            assert_eq!(known_flag(name).and_then(|flag| flag.until()), until, "{name}");
        }
        assert!(known_flag("no-such-flag").is_none());
        let removed = |minor| flag_names(KubeletVersion::new(1, minor)).count();
        assert!(removed(32) > removed(34) && removed(34) > removed(35));
    }
}
