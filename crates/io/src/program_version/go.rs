//! Versions of programs in Go: what the go command and the linker store in them.
//!
//! `go build` stores the main package, the main module with its version, and the linker's flags, unless `-trimpath` is
//! set, as for the releases of Kubernetes and of runc (`runtime/debug.BuildInfo`; `debug/buildinfo` of Go has the format).
//! `-ldflags "-X VARIABLE=TEXT"` places the text, ended by a NUL, between the constants (`addstrdata` in
//! `cmd/link/internal/ld/data.go`). `//go:embed` places runc's file VERSION, with its line end, among all other texts.

use super::elf::{Program, Span};
use super::text::{CONSTANTS, Find, has_numbers, only, texts};
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
    name: &'static str,
    /// The variable that the linker's flags set.
    variable: &'static str,
    /// How the text of that variable is found between the constants.
    linked: Find,
    /// Which texts are versions.
    is_version: fn(&str) -> bool,
    /// It embeds a file with its version.
    has_file: bool,
}

const KNOWN: [Known; 7] = [
    kubernetes("k8s.io/kubernetes/cmd/kubelet"),
    kubernetes("k8s.io/kubernetes/cmd/hyperkube"),
    kubernetes("github.com/k3s-io/k3s"),
    kubernetes("github.com/openshift/microshift"),
    Known { has_file: true, ..runtime("github.com/opencontainers/runc", "runc", "main.version") },
    runtime("github.com/nestybox/sysbox-runc", "sysbox-runc", "main.version"),
    runtime(
        "github.com/NVIDIA/nvidia-container-toolkit",
        "NVIDIA Container Runtime",
        "github.com/NVIDIA/nvidia-container-toolkit/internal/info.version",
    ),
];

const fn kubernetes(package: &'static str) -> Known {
    Known {
        linked: Find::Beginning(b"v1."),
        is_version: |text| text.strip_prefix('v').is_some_and(|text| has_numbers(text, 3)),
        ..runtime(package, "Kubernetes", "k8s.io/component-base/version.gitVersion")
    }
}

const fn runtime(package: &'static str, name: &'static str, variable: &'static str) -> Known {
    Known {
        package,
        name,
        variable,
        linked: Find::Dotted,
        is_version: |text| has_numbers(text.strip_prefix('v').unwrap_or(text), 3),
        has_file: false,
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
    let linked = texts(program, place, &known.linked, known.is_version)?;
    let (commits, linked) = linked.into_iter().partition(|text| described(text).is_some());
    let mut found = vec![releases(linked, known.name)];
    if known.has_file {
        found.push(embedded(program, place)?);
    }
    found.push(of_commits(&commits));
    if let Some(texts) = found.into_iter().find(|texts| !texts.is_empty()) {
        return Ok(named(&only(texts)?));
    }
    // Stored since Go 1.24, if the go command saw the tag. Commits after a tag have a version of another form.
    let version =
        info.module_version.strip_prefix(if known.name == "Kubernetes" { "" } else { "v" });
    match version.filter(|version| !version.is_empty() && !version.contains("-0.")) {
        Some(version) => Ok(named(version)),
        None => Err(ProgramVersionError::NoVersion),
    }
}

/// Returns the releases among the texts of the linker. A package of Debian has the version of the package in addition:
/// `1.3.6+ds1-1` of `1.3.6+ds1`.
fn releases(texts: BTreeSet<String>, name: &str) -> BTreeSet<String> {
    let shown = |text: &String| match name {
        "Kubernetes" => text.clone(),
        _ => text.strip_prefix('v').unwrap_or(text).to_owned(),
    };
    let texts: BTreeSet<String> = texts.iter().map(shown).collect();
    let is_longer = |text: &&String| {
        texts.iter().any(|other| {
            text.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    texts.iter().filter(|text| !is_longer(text)).cloned().collect()
}

/// Returns the versions in the file that runc embeds. The texts of Go's constants follow each other without an end, so the
/// one before it can end like a part of the version; the first number of runc is 1.
fn embedded(program: &Program<'_>, place: Span) -> Result<BTreeSet<String>, ProgramVersionError> {
    let ends =
        texts(program, place, &Find::EndOfMany(b"\n"), |text| release_at_end(text).is_some())?;
    Ok(ends.iter().filter_map(|text| release_at_end(text)).map(str::to_owned).collect())
}

/// Returns the release at the end of a text: `1.3.6` of `ssse31.3.6`, `1.5.0-rc.1+dev`.
fn release_at_end(text: &str) -> Option<&str> {
    let starts = text.match_indices("1.").map(|(at, _)| at);
    starts.filter_map(|at| Some((text.get(..at)?, text.get(at..)?))).find_map(
        |(before, release)| {
            let (numbers, candidate) = match release.split_once("-rc") {
                Some((numbers, rest)) => (numbers, Some(rest.strip_suffix("+dev").unwrap_or(rest))),
                None => (release.strip_suffix("+dev").unwrap_or(release), None),
            };
            let is_candidate = candidate.is_none_or(|number| {
                let number = number.strip_prefix('.').unwrap_or(number);
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
            let is_release = numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                && has_numbers(numbers, 3)
                && is_candidate
                && !before.ends_with('.');
            is_release.then_some(release)
        },
    )
}

/// Returns the releases whose commit the program was built from. A number of commits after the tag is another program.
fn of_commits(texts: &BTreeSet<String>) -> BTreeSet<String> {
    let releases = texts.iter().filter_map(|text| match described(text) {
        Some((release, 0)) => Some(release.strip_prefix('v').unwrap_or(release).to_owned()),
        _ => None,
    });
    releases.collect()
}

/// Returns the release and the number of commits after it of a text of `git describe --long`.
fn described(text: &str) -> Option<(&str, u32)> {
    let text = text.strip_suffix("-dirty").unwrap_or(text);
    let (rest, commit) = text.rsplit_once("-g")?;
    let (release, after) = rest.rsplit_once('-')?;
    let is_commit = commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
    Some((release, after.parse().ok()?)).filter(|_| is_commit)
}
