//! The version of a kubelet, as far as its behaviour depends on it.
//!
//! Rules change with minor versions. A patch ends faults and switches gates ([`patch_fixes`](crate::patch_fixes)).

use std::fmt;
use std::str::FromStr;

/// The version of a kubelet.
///
/// Two versions are equal by major and minor: patches have no rules of their own, and what they end has a name in
/// [`kubelet_rules`](crate::kubelet_rules). So has what depends on the order of versions, which others cannot compare by.
#[derive(Clone, Copy, Debug)]
pub struct KubeletVersion {
    /// 1.
    pub major: u32,
    /// The number that rules depend on.
    pub minor: u32,
    /// The patch; `None`: not set.
    pub patch: Option<u32>,
}

/// Whether kq has the rules of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSupport {
    /// It does.
    Inside(KubeletVersion),
    /// The version is too old; the oldest supported one is used.
    Older(KubeletVersion),
    /// The version is too new; the newest supported one is used.
    Newer(KubeletVersion),
}

/// Why a text is not a kubelet version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a kubelet version such as 1.36 or v1.36.2")]
pub struct ParseVersionError {
    pub text: String,
}

impl KubeletVersion {
    /// The oldest supported version.
    pub const OLDEST: Self = Self::new(1, 32);
    /// The newest supported version.
    pub const NEWEST: Self = Self::new(1, 37);
    /// The version that answers follow where nothing says which one the kubelet has: the newest whose sources
    /// were read as a whole. Of 1.37, `tests/vectors/versions/README.md` names what could not be read.
    pub const ASSUMED: Self = Self::new(1, 36);
    /// The number of supported versions: the columns of the tables.
    pub const COUNT: usize = (Self::NEWEST.minor - Self::OLDEST.minor + 1) as usize;

    /// Returns a version without a patch.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: None }
    }

    /// Returns the same minor version with a patch.
    #[must_use]
    pub const fn with_patch(self, patch: u32) -> Self {
        Self { patch: Some(patch), ..self }
    }

    /// Returns whether kq has the rules of this version, or which version it uses instead.
    pub fn known(self) -> VersionSupport {
        let number = |version: Self| (version.major, version.minor);
        if number(self) < number(Self::OLDEST) {
            VersionSupport::Older(Self::OLDEST)
        } else if number(self) > number(Self::NEWEST) {
            VersionSupport::Newer(Self::NEWEST)
        } else {
            VersionSupport::Inside(self)
        }
    }

    /// Returns the index of this version, or of the nearest supported one, in a table of all supported versions.
    pub fn column(self) -> usize {
        (self.known().used().minor - Self::OLDEST.minor) as usize
    }

    /// Returns the supported minor versions before this one, the latest first.
    pub fn earlier(self) -> impl Iterator<Item = Self> {
        let minors = Self::OLDEST.minor..self.known().used().minor;
        minors.rev().map(|minor| Self::new(1, minor))
    }

    /// Returns true if this is the given 1.x version or a later one. What depends on it has a name in
    /// [`kubelet_rules`](crate::kubelet_rules).
    pub(crate) fn at_least(self, minor: u32) -> bool {
        (self.major, self.minor) >= (1, minor)
    }
}

impl VersionSupport {
    /// Returns the version whose rules are used.
    pub fn used(self) -> KubeletVersion {
        match self {
            Self::Inside(version) | Self::Older(version) | Self::Newer(version) => version,
        }
    }
}

impl PartialEq for KubeletVersion {
    fn eq(&self, other: &Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }
}

impl Eq for KubeletVersion {}

impl fmt::Display for KubeletVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl FromStr for KubeletVersion {
    type Err = ParseVersionError;

    /// Reads `1.36`, `v1.36.2`, `1.36.2+k3s1` or `v1.36.0-rc.1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let numbers = numbers.split(['+', '-']).next().unwrap_or_default();
        let parsed: Option<Vec<u32>> = numbers.split('.').map(number).collect();
        match parsed.as_deref() {
            Some(&[major, minor]) => Ok(Self { major, minor, patch: None }),
            Some(&[major, minor, patch]) => Ok(Self { major, minor, patch: Some(patch) }),
            _ => Err(ParseVersionError { text: text.to_owned() }),
        }
    }
}

/// Reads digits only: `u32` alone would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_shown() {
        let cases = [
            ("minor only", "1.36", Some("1.36")),
            ("patch", "v1.36.2", Some("1.36.2")),
            ("build", "1.36.2+k3s1", Some("1.36.2")),
            ("pre-release", "v1.36.0-rc.1", Some("1.36.0")),
            ("vendor", "v1.33.5-gke.1162000", Some("1.33.5")),
            ("empty", "", None),
            ("major only", "1", None),
            ("four parts", "1.2.3.4", None),
            ("sign", "1.+36", None),
            ("words", "latest", None),
            ("too large", "1.99999999999", None),
        ];
        for (name, text, expected) in cases {
            let got = text.parse::<KubeletVersion>().ok().map(|version| version.to_string());
            assert_eq!(got.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn unknown_versions_use_the_nearest() {
        let cases = [
            ("older", (1, 28), VersionSupport::Older(KubeletVersion::OLDEST)),
            ("oldest", (1, 32), VersionSupport::Inside(KubeletVersion::OLDEST)),
            ("assumed", (1, 36), VersionSupport::Inside(KubeletVersion::ASSUMED)),
            ("newest", (1, 37), VersionSupport::Inside(KubeletVersion::NEWEST)),
            ("newer", (1, 40), VersionSupport::Newer(KubeletVersion::NEWEST)),
            ("next major", (2, 0), VersionSupport::Newer(KubeletVersion::NEWEST)),
        ];
        for (name, (major, minor), expected) in cases {
            assert_eq!(KubeletVersion::new(major, minor).known(), expected, "{name}");
        }
    }

    #[test]
    fn the_patch_does_not_count() {
        let patched: KubeletVersion = "1.34.7".parse().expect("a version");
        assert_eq!(patched, KubeletVersion::new(1, 34));
        assert!(patched.at_least(34) && !patched.at_least(35));
    }
}
