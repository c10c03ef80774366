//! Versions of programs in Go: what the go command and the linker store in them.
//!
//! `go build` stores the main package, the main module with its version, and the linker's flags, unless `-trimpath` is
//! set, as for the releases of Kubernetes and of runc (`runtime/debug.BuildInfo`; `debug/buildinfo` of Go has the format).
//! `-ldflags "-X VARIABLE=TEXT"` places the text, ended by a NUL, between the constants (`addstrdata` in
//! `cmd/link/internal/ld/data.go`). `//go:embed` places runc's file VERSION, with its line end, among all other texts.

use super::elf::Program;
use super::text::{CONSTANTS, only, texts};
use super::{ProgramVersion, ProgramVersionError};
use std::collections::BTreeSet;

/// The section with the build information, and what it begins with.
const SECTION: &str = ".go.buildinfo";
const MAGIC: &[u8] = b"\xff Go buildinf:";

/// The header before the two texts.
const HEADER: usize = 32;

/// The flag of a header that texts follow; before Go 1.18, pointers do.
const HAS_TEXTS: u8 = 2;

/// The module's text is between two markers of this size.
const MARKER: usize = 16;

/// The most build information that is read. k3s, which contains everything, has 40 kB.
const MOST_INFO: u64 = 1 << 20;

/// What kq knows of a program in Go.
struct Known {
    /// The main package, or the beginning of it.
    package: &'static str,
    /// Its name.
    name: &'static str,
    /// The variable that the linker's flags set.
    variable: &'static str,
    /// The text of that variable between the constants.
    pattern: &'static str,
    /// The text of an embedded file.
    embedded: Option<&'static str>,
}

/// What ends a text of the linker, and what cannot precede one: a character of a longer text.
const KUBERNETES: &str = r"(?:^|[^-+~./@_0-9A-Za-z])(v1\.[0-9]+\.[0-9]+[-+~.0-9A-Za-z]{0,64})\x00";
const NUMBERS: &str =
    r"(?:^|[^-+~./@_0-9A-Za-z])v?([0-9]+\.[0-9]+\.[0-9]+[-+~.0-9A-Za-z]{0,64})\x00";

/// The text before it may end with a digit; runc's first number is 1.
const EMBEDDED: &str = r"(?:^|[^.])(1\.[0-9]+\.[0-9]+(?:-rc\.?[0-9]+)?(?:\+dev)?)\n";

const KNOWN: &[Known] = &[
    kubernetes("k8s.io/kubernetes/cmd/kubelet"),
    kubernetes("k8s.io/kubernetes/cmd/hyperkube"),
    kubernetes("github.com/k3s-io/k3s"),
    kubernetes("github.com/canonical/microk8s"),
    Known {
        package: "github.com/opencontainers/runc",
        name: "runc",
        variable: "main.version",
        pattern: NUMBERS,
        embedded: Some(EMBEDDED),
    },
    Known {
        package: "github.com/nestybox/sysbox-runc",
        name: "sysbox-runc",
        variable: "main.version",
        pattern: NUMBERS,
        embedded: None,
    },
    Known {
        package: "github.com/NVIDIA/nvidia-container-toolkit",
        name: "NVIDIA Container Runtime",
        variable: "github.com/NVIDIA/nvidia-container-toolkit/internal/info.version",
        pattern: NUMBERS,
        embedded: None,
    },
];

const fn kubernetes(package: &'static str) -> Known {
    Known {
        package,
        name: "Kubernetes",
        variable: "k8s.io/component-base/version.gitVersion",
        pattern: KUBERNETES,
        embedded: None,
    }
}

/// The build information of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BuildInfo {
    /// The main package.
    package: String,
    /// The version of its module; empty where the go command knew none.
    module_version: String,
    /// The flags of the linker; empty where they are not stored.
    flags: String,
}

impl BuildInfo {
    /// Reads the build information; `None`: it is no program in Go.
    pub(super) fn of(program: &Program<'_>) -> Result<Option<Self>, ProgramVersionError> {
        let Some(place) = program.section(SECTION) else { return Ok(None) };
        let bytes = program.bytes(place, MOST_INFO)?;
        if !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
        Ok(Some(Self::parse(&bytes)))
    }

    /// Returns what is readable of a section; a truncated one has less.
    fn parse(section: &[u8]) -> Self {
        let mut info = Self::default();
        if section.get(MAGIC.len() + 1).is_none_or(|flags| flags & HAS_TEXTS == 0) {
            return info;
        }
        let rest = section.get(HEADER..).unwrap_or_default();
        let (_, rest) = text(rest);
        let (module, _) = text(rest);
        let module = module
            .get(MARKER..module.len().saturating_sub(MARKER))
            .map(String::from_utf8_lossy)
            .unwrap_or_default();
        for line in module.lines() {
            let mut words = line.split('\t');
            match (words.next(), words.next(), words.next()) {
                (Some("path"), Some(package), _) => info.package = package.to_owned(),
                (Some("mod"), Some(_), Some(version)) if version != "(devel)" => {
                    info.module_version = version.to_owned();
                }
                (Some("build"), Some(setting), None) => {
                    if let Some(flags) = setting.strip_prefix("-ldflags=") {
                        info.flags = flags.to_owned();
                    }
                }
                _ => {}
            }
        }
        info
    }

    /// Returns the text of a variable that the linker's flags set.
    fn variable(&self, name: &str) -> Option<&str> {
        let quotes = |c: char| matches!(c, '"' | '\'' | '\\');
        let mut words = self.flags.split_whitespace().map(|word| word.trim_matches(quotes));
        // The last one wins.
        let set = words.by_ref().filter_map(|word| {
            let setting = word.strip_prefix("-X=").unwrap_or(word);
            setting.strip_prefix(name)?.strip_prefix('=')
        });
        set.last().map(|text| text.trim_matches(quotes)).filter(|text| !text.is_empty())
    }
}

/// Returns a text with its length before it, and what follows.
fn text(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (mut length, mut shift) = (0_usize, 0);
    for (at, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let rest = bytes.get(at + 1..).unwrap_or_default();
            return rest.split_at(length.min(rest.len()));
        }
    }
    (&[], &[])
}

/// Returns the version of a program in Go.
pub(super) fn version(
    info: &BuildInfo,
    program: &Program<'_>,
) -> Result<ProgramVersion, ProgramVersionError> {
    let is_it = |known: &&Known| {
        info.package
            .strip_prefix(known.package)
            .is_some_and(|rest| matches!(rest.chars().next(), None | Some('/')))
    };
    let known = KNOWN.iter().find(is_it).ok_or_else(|| {
        ProgramVersionError::OtherProgram(info.package.chars().take(200).collect())
    })?;
    let named =
        |version: &str| ProgramVersion { name: known.name.to_owned(), version: version.to_owned() };
    if let Some(version) = info.variable(known.variable) {
        return Ok(named(version));
    }
    let place = program.section(CONSTANTS).ok_or(ProgramVersionError::NoVersion)?;
    let linked = texts(program, place, &format!("(?-u){}", known.pattern))?;
    match (only(releases(&linked)), known.embedded) {
        (Ok(version), _) => return Ok(named(&version)),
        (Err(error @ ProgramVersionError::Several(_)), _) => return Err(error),
        (Err(_), None) => {}
        (Err(_), Some(embedded)) => {
            match only(texts(program, place, &format!("(?-u){embedded}"))?) {
                Err(ProgramVersionError::NoVersion) => {}
                found => return Ok(named(&found?)),
            }
        }
    }
    // Stored since Go 1.24, if the go command saw the tag. Commits after a tag have a version of another form.
    let version =
        info.module_version.strip_prefix(if known.name == "Kubernetes" { "" } else { "v" });
    match version.filter(|version| !version.is_empty() && !version.contains("-0.")) {
        Some(version) => Ok(named(version)),
        None => Err(ProgramVersionError::NoVersion),
    }
}

/// Returns the releases among the texts of the linker. A program has its release, and often its commit: `git describe`
/// writes `v1.3.6-0-gd842d771` for the tag itself, and Debian the version of its package, `1.3.6+ds1-1`. A number of
/// commits after the tag is another program than the release.
fn releases(texts: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for text in texts {
        match described(text) {
            Some((release, 0)) => {
                found.insert(release.to_owned());
            }
            Some(_) => {}
            None => {
                found.insert(text.clone());
            }
        }
    }
    let is_longer = |text: &&String| {
        found.iter().any(|other| text.len() > other.len() && text.starts_with(&format!("{other}-")))
    };
    let longer: Vec<String> = found.iter().filter(is_longer).cloned().collect();
    found.retain(|text| !longer.contains(text));
    found
}

/// Returns the release and the number of commits after it of a text of `git describe --long`.
fn described(text: &str) -> Option<(&str, u32)> {
    let text = text.strip_suffix("-dirty").unwrap_or(text);
    let (rest, commit) = text.rsplit_once("-g")?;
    let (release, after) = rest.rsplit_once('-')?;
    let is_commit = commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
    Some((release, after.parse().ok()?)).filter(|_| is_commit)
}

/// Returns the patterns of all programs.
#[cfg(test)]
pub(super) fn patterns() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().flat_map(|known| [Some(known.pattern), known.embedded]).flatten()
}
