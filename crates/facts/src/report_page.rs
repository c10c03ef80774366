//! How a page of `kq report` holds a snapshot, so that the page can be asked again.
//!
//! The snapshot is packed and written in an element of its own. Names on the page cannot pass for that element: the page
//! escapes them.

/// What a page of kq begins with.
pub const BEGINS: &str = "<!DOCTYPE html><html lang=\"en\"><!-- kq report -->";

/// What stands before a packed snapshot, in base64.
pub const SNAPSHOT_BEGINS: &str = "<script type=\"application/zstd\" id=\"snapshot\">";

/// What stands after it.
pub const SNAPSHOT_ENDS: &str = "</script>";

/// Returns the snapshot of a page as the page has it; `Some(None)`: the page has none; `None`: it is no page of kq.
pub fn snapshot_text(page: &[u8]) -> Option<Option<&[u8]>> {
    let rest = page.strip_prefix(BEGINS.as_bytes())?;
    let begin = find(rest, SNAPSHOT_BEGINS).map(|at| &rest[at + SNAPSHOT_BEGINS.len()..]);
    Some(begin.and_then(|text| Some(&text[..find(text, SNAPSHOT_ENDS)?])))
}

fn find(text: &[u8], wanted: &str) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_is_between_its_marks() {
        let page = format!("{BEGINS}<p>x</p>{SNAPSHOT_BEGINS}AAAA{SNAPSHOT_ENDS}</html>");
        assert_eq!(snapshot_text(page.as_bytes()), Some(Some(b"AAAA".as_slice())));
        let cut = format!("{BEGINS}{SNAPSHOT_BEGINS}AAAA");
        assert_eq!(snapshot_text(cut.as_bytes()), Some(None));
        assert_eq!(snapshot_text(format!("{BEGINS}</html>").as_bytes()), Some(None));
        assert_eq!(snapshot_text(b"<!DOCTYPE html><html>"), None);
    }
}
