//! Where the sources of the kubelet have a text, and which versions have it.

use super::table::Row;
use super::template::single_spaced;
use std::fmt;
use std::sync::OnceLock;

/// Where the sources have the messages of the kubelet: those of the table, and others.
pub(super) const PLACES: &str = include_str!("messages/places.txt");

impl Row {
    /// Returns where the sources have one of its texts. What a program read in them counts before what stands in the table:
    /// a text may have been made elsewhere in an older version, and since another one.
    pub fn place(&self, template: usize) -> Place {
        let own = |versions| Place { file: self.file, function: self.function, versions };
        if !self.is_kubelets() || self.is_place {
            return own(self.versions.clone());
        }
        let shape = self.templates[template].shape();
        let all = || places().iter().filter(|it| it.shape == shape);
        // The same words of another part of the kubelet are another message.
        let here = || all().filter(|it| it.file == self.file);
        // A row may name several functions, as a person would.
        if self.function.contains(' ') && here().next().is_some() {
            return own(self.versions.clone());
        }
        let nearest = here().find(|it| it.function == self.function);
        let other_text = || all().next_back().filter(|_| template > 0);
        let Some(nearest) = nearest.or_else(|| here().next_back()).or_else(other_text) else {
            return own(self.versions.clone());
        };
        let versions = match (Versions::of(all()), self.templates.len()) {
            (Versions { since: None, until: None }, 1) => self.versions.clone(),
            (read, _) => read.to_string(),
        };
        // An error that is a variable is made in no function.
        let function = if nearest.function.is_empty() { self.function } else { nearest.function };
        Place { file: nearest.file, function, versions }
    }
}

/// Where the sources have a text, and which versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub file: &'static str,
    pub function: &'static str,
    /// Empty: all that kq knows.
    pub versions: String,
}

/// The first and the last version that has a text, where not all have it.
struct Versions {
    since: Option<String>,
    until: Option<String>,
}

impl Versions {
    /// Returns those of a text that several places have.
    fn of<'r>(rows: impl Iterator<Item = &'r Location>) -> Self {
        let (mut since, mut until) = (Vec::new(), Vec::new());
        for row in rows {
            let of = |name: &str| {
                let mut parts = row.versions.split(", ");
                parts.find_map(|it| it.strip_prefix(name).map(|it| it.trim().to_owned()))
            };
            since.push(of("since"));
            until.push(of("until"));
        }
        // `None` is less than any version, and here it is before all of them, or after.
        let until = if until.contains(&None) { None } else { until.into_iter().flatten().max() };
        Self { since: since.into_iter().min().flatten(), until }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.since, &self.until) {
            (None, None) => Ok(()),
            (Some(since), None) => write!(f, "since {since}"),
            (None, Some(until)) => write!(f, "until {until}"),
            (Some(since), Some(until)) if since == until => write!(f, "{since}"),
            (Some(since), Some(until)) => write!(f, "since {since}, until {until}"),
        }
    }
}

/// A text in the sources.
struct Location {
    /// As of [`Template::shape`].
    shape: String,
    file: &'static str,
    function: &'static str,
    /// As a line of the table has them, with other words.
    versions: &'static str,
}

/// Returns what a program found in the sources. Most of it is not asked for: templates are made of none.
fn places() -> &'static [Location] {
    static ALL: OnceLock<Vec<Location>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<Location> = Vec::new();
        let (mut file, mut function) = ("", "");
        for line in PLACES.lines() {
            if let Some(path) = line.strip_prefix("@file ") {
                (file, function) = (path, "");
            } else if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                function = name;
            } else if let Some(versions) = line.strip_prefix("\t* ") {
                all.last_mut().into_iter().for_each(|last| last.versions = versions);
            } else if !line.starts_with(['@', '#']) && !line.is_empty() {
                all.push(Location { shape: shape(line), file, function, versions: "" });
            }
        }
        all
    })
}

/// Returns the shape of a template that is not parsed.
fn shape(source: &str) -> String {
    let inner = source.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let mut rest = inner.filter(|it| !it.contains('{')).unwrap_or(source);
    let mut shape = String::with_capacity(rest.len());
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        shape.push_str(&single_spaced(before));
        rest = match (from.get(..2), from.find('}')) {
            (Some(twice @ ("{{" | "}}")), _) => {
                shape.push_str(&twice[..1]);
                &from[2..]
            }
            (_, Some(end)) => {
                shape.push_str("{}");
                &from[end + 1..]
            }
            (_, None) => break,
        };
    }
    shape + &single_spaced(rest)
}

#[cfg(test)]
mod tests {
    use super::super::table::parse;
    use super::*;

    #[test]
    fn places_have_the_shapes_of_their_templates() {
        let rows = parse(&[PLACES]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(rows.len(), places().len());
        for (row, place) in rows.iter().zip(places()) {
            assert_eq!(row.templates[0].shape(), place.shape);
            assert_eq!((row.file, row.function), (place.file, place.function));
        }
    }
}
