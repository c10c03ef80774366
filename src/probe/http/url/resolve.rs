//! References against the URL that they were found at (`ResolveReference` of Go's `net/url/url.go`).

use super::{ParseUrlError, Url};

impl Url {
    /// Reads a reference that was found at this URL.
    pub(in crate::probe::http) fn join(&self, reference: &[u8]) -> Result<Self, ParseUrlError> {
        Ok(self.resolve(Self::parse(reference)?))
    }

    fn resolve(&self, mut reference: Self) -> Self {
        let is_absolute = !reference.scheme.is_empty();
        if !is_absolute {
            reference.scheme.clone_from(&self.scheme);
        }
        if is_absolute || !reference.host.is_empty() || reference.user.is_some() {
            let path = reference.escaped_path();
            return reference.with_path(&path, b"");
        }
        let is_empty = reference.path.is_empty();
        if is_empty && !reference.forces_query && reference.raw_query.is_empty() {
            reference.raw_query.clone_from(&self.raw_query);
            if reference.fragment.is_empty() {
                reference.fragment.clone_from(&self.fragment);
                reference.raw_fragment.clone_from(&self.raw_fragment);
            }
        }
        if is_empty && !self.opaque.is_empty() {
            reference.opaque.clone_from(&self.opaque);
            return reference;
        }
        reference.host.clone_from(&self.host);
        reference.user.clone_from(&self.user);
        let path = reference.escaped_path();
        reference.with_path(&self.escaped_path(), &path)
    }

    fn with_path(mut self, base: &[u8], reference: &[u8]) -> Self {
        // What was escaped before can be read again: as Go does, an error is no matter.
        let _ = self.set_path(&resolve_path(base, reference));
        self
    }
}

/// Resolves `.` and `..` (`resolvePath`); the result has a leading slash unless it is empty.
fn resolve_path(base: &[u8], reference: &[u8]) -> Vec<u8> {
    let full = match reference {
        [] => base.to_owned(),
        [b'/', ..] => reference.to_owned(),
        _ => {
            let folder = base.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            [base.split_at(folder).0, reference].concat()
        }
    };
    if full.is_empty() {
        return full;
    }
    // What follows the leading slash. Only the very first element gets no slash of its own; a dot counts
    // as an element, a `..` that leaves nothing starts again.
    let (mut path, mut is_first) = (Vec::new(), true);
    let mut ends_in_folder = false;
    for element in full.split(|byte| *byte == b'/') {
        ends_in_folder = matches!(element, b"." | b"..");
        match element {
            b"." => is_first = false,
            b".." => {
                let slash = path.iter().rposition(|byte| *byte == b'/');
                is_first |= slash.is_none();
                path.truncate(slash.unwrap_or(0));
            }
            _ => {
                if !is_first {
                    path.push(b'/');
                }
                path.extend_from_slice(element);
                is_first = false;
            }
        }
    }
    if ends_in_folder {
        path.push(b'/');
    }
    if path.first() != Some(&b'/') {
        path.insert(0, b'/');
    }
    path
}
