//! An answer in the log of a pod: a header line, then the compressed answer in lines.
//! A log that was cut, rotated or mixed with other lines is detected.

use super::outcome::NoAnswer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kq_answer::sha256;
use kq_facts::limits::unpacked_limit;
use kq_output::terminal::brief;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::{Deserialize, Serialize};

/// How the first line begins.
const MARK: &str = "kq-fleet/v1 ";

/// How many bytes a line holds before they are written in base64.
const LINE: usize = 3 << 10;

/// As small as the time allows: miniz calls it the default.
const LEVEL: u8 = 6;

/// What one run of kq wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The exit code; `None`: a signal ended it.
    pub exit_code: Option<u8>,
    /// Standard output.
    pub output: Vec<u8>,
    /// The beginning of standard error.
    pub notes: String,
}

/// What follows the first line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    exit_code: Option<u8>,
    lines: usize,
    bytes: usize,
    sha256: String,
    notes: String,
}

impl Packed {
    /// Returns the lines.
    pub fn to_lines(&self) -> Vec<String> {
        let packed = compress_to_vec_zlib(&self.output, LEVEL);
        let header = Header {
            exit_code: self.exit_code,
            lines: packed.chunks(LINE).count(),
            bytes: self.output.len(),
            sha256: sha256(&self.output),
            notes: self.notes.clone(),
        };
        let header = serde_json::to_string(&header).unwrap_or_default();
        let lines = packed.chunks(LINE).map(|chunk| STANDARD.encode(chunk));
        std::iter::once(format!("{MARK}{header}")).chain(lines).collect()
    }

    /// Reads the log of a pod; the answer may have at most so many bytes, in proportion to the size of the log.
    /// Fails unless the log has the whole answer.
    pub fn from_log(log: &[u8], limit: u64) -> Result<Self, NoAnswer> {
        let cut = |what: &str| NoAnswer::Cut(what.to_owned());
        let text = std::str::from_utf8(log).map_err(|_| cut("it is not text"))?;
        let mut lines = text.lines().skip_while(|line| !line.starts_with(MARK));
        let first = lines.next().and_then(|line| line.strip_prefix(MARK));
        let first = first.ok_or_else(|| match text.lines().next_back() {
            None => cut("it is empty"),
            Some(last) => {
                let last = brief(last);
                NoAnswer::NoJson(format!("the log of the pod ends with {last:?}"))
            }
        })?;
        let header: Header =
            serde_json::from_str(first).map_err(|_| cut("its first line is damaged"))?;
        let limit = limit.min(unpacked_limit(log.len() as u64));
        if header.bytes > usize::try_from(limit).unwrap_or(usize::MAX) {
            return Err(NoAnswer::Large(limit));
        }
        let mut packed = Vec::new();
        for at in 0..header.lines {
            let line = lines.next().ok_or_else(|| {
                NoAnswer::Cut(format!("{at} of {} lines are there", header.lines))
            })?;
            let chunk = STANDARD.decode(line).map_err(|_| cut("a line is damaged"))?;
            packed.extend(chunk);
        }
        let output = decompress_to_vec_zlib_with_limit(&packed, header.bytes)
            .map_err(|_| cut("it cannot be unpacked"))?;
        if output.len() != header.bytes || sha256(&output) != header.sha256 {
            return Err(cut("its checksum is wrong"));
        }
        Ok(Self { exit_code: header.exit_code, output, notes: header.notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn packed(bytes: usize) -> Packed {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let output = std::iter::repeat_with(&mut noise).take(bytes).collect();
        Packed { exit_code: Some(1), output, notes: "missing: a\nb".to_owned() }
    }

    #[test]
    fn a_whole_log_gives_the_answer_whatever_is_before_and_behind_it() {
        for bytes in [0, 1, LINE, 100_000] {
            let packed = packed(bytes);
            let log = format!("a note\n{}\nanother\n", packed.to_lines().join("\n"));
            assert_eq!(Packed::from_log(log.as_bytes(), LIMIT), Ok(packed), "{bytes}");
        }
    }

    #[test]
    fn a_log_that_is_cut_or_changed_anywhere_gives_none() {
        let log = packed(20_000).to_lines().join("\n");
        for end in (0..log.len()).step_by(97) {
            assert!(Packed::from_log(&log.as_bytes()[..end], LIMIT).is_err(), "the first {end}");
        }
        for at in (0..log.len()).step_by(101) {
            let mut changed = log.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let read = Packed::from_log(&changed, LIMIT);
            // Only the text around the answer has no checksum.
            let is_same = read.as_ref().is_ok_and(|it| it.output == packed(20_000).output);
            assert!(read.is_err() || is_same, "changed at {at}");
        }
        let without_first: String = log.lines().skip(1).collect();
        assert!(Packed::from_log(without_first.as_bytes(), LIMIT).is_err());
    }

    #[test]
    fn an_answer_is_bounded_whatever_it_says_of_itself() {
        let log = packed(10_000).to_lines().join("\n");
        assert_eq!(Packed::from_log(log.as_bytes(), 9_999), Err(NoAnswer::Large(9_999)));
        // A few kilobytes do not become 60 MiB, whatever the limit.
        let bomb = Packed { output: vec![0; 60 << 20], ..Packed::default() }.to_lines().join("\n");
        assert!(bomb.len() < 200_000, "{}", bomb.len());
        let read = Packed::from_log(bomb.as_bytes(), 64 << 20);
        assert!(matches!(read, Err(NoAnswer::Large(limit)) if limit < 32 << 20), "{read:?}");
        // A bomb unpacks to more than it announces.
        let bomb = Packed { output: vec![0; 1 << 20], ..Packed::default() }.to_lines().join("\n");
        let bomb = bomb.replace("\"bytes\":1048576", "\"bytes\":10");
        assert!(matches!(Packed::from_log(bomb.as_bytes(), LIMIT), Err(NoAnswer::Cut(_))));
    }
}
