//! Anchors, tags and directives (`scannerc.go`).

use super::scan::{Scanner, TokenKind};
use super::source::{is_blank, is_break, is_break_or_end, is_space_or_end, is_word};
use super::{GoYamlError, scan_error};

/// The longest number of a version.
const LONGEST_NUMBER: usize = 2;

impl Scanner<'_> {
    fn stop<T>(&self, problem: &str) -> Result<T, GoYamlError> {
        Err(scan_error(problem, self.source.mark.line))
    }

    fn word(&mut self, text: &mut String) -> Result<(), GoYamlError> {
        while is_word(self.source.peek()) {
            text.push(self.source.peek());
            self.source.skip()?;
        }
        Ok(())
    }

    fn blanks(&mut self) -> Result<(), GoYamlError> {
        while is_blank(self.source.peek()) {
            self.source.skip()?;
        }
        Ok(())
    }

    /// Reads an anchor or an alias.
    pub(super) fn anchor(&mut self) -> Result<TokenKind, GoYamlError> {
        let is_alias = self.source.peek() == '*';
        self.source.skip()?;
        let mut name = String::new();
        self.word(&mut name)?;
        let next = self.source.peek();
        let ends =
            is_space_or_end(next) || matches!(next, '?' | ':' | ',' | ']' | '}' | '%' | '@' | '`');
        if name.is_empty() || !ends {
            return self.stop("did not find expected alphabetic or numeric character");
        }
        Ok(if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) })
    }

    /// Reads a tag.
    pub(super) fn tag(&mut self) -> Result<TokenKind, GoYamlError> {
        let (mut handle, mut suffix) = (String::new(), String::new());
        if self.source.ahead(1) == '<' {
            self.source.skip()?;
            self.source.skip()?;
            suffix = self.uri("")?;
            if self.source.peek() != '>' {
                return self.stop("did not find the expected '>'");
            }
            self.source.skip()?;
        } else {
            handle = self.handle(false)?;
            if handle.len() > 1 && handle.ends_with('!') {
                suffix = self.uri("")?;
            } else {
                suffix.push_str(&self.uri(&handle)?);
                "!".clone_into(&mut handle);
                if suffix.is_empty() {
                    std::mem::swap(&mut handle, &mut suffix);
                }
            }
        }
        if !is_space_or_end(self.source.peek()) {
            return self.stop("did not find expected whitespace or line break");
        }
        Ok(TokenKind::Tag { handle, suffix })
    }

    fn handle(&mut self, is_directive: bool) -> Result<String, GoYamlError> {
        if self.source.peek() != '!' {
            return self.stop("did not find expected '!'");
        }
        let mut handle = "!".to_owned();
        self.source.skip()?;
        self.word(&mut handle)?;
        if self.source.peek() == '!' {
            handle.push('!');
            self.source.skip()?;
        } else if is_directive && handle != "!" {
            return self.stop("did not find expected '!'");
        }
        Ok(handle)
    }

    /// Reads the rest of a tag; `head` begins it, but for its `!`.
    fn uri(&mut self, head: &str) -> Result<String, GoYamlError> {
        let mut bytes = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let mut has_any = !head.is_empty();
        loop {
            let char = self.source.peek();
            if char == '%' {
                self.escaped_octets(&mut bytes)?;
            } else if is_word(char) || ";/?:@&=+$,.!~*'()[]".contains(char) {
                bytes.push(u8::try_from(char).unwrap_or_default());
                self.source.skip()?;
            } else {
                break;
            }
            has_any = true;
        }
        if !has_any {
            return self.stop("did not find expected tag URI");
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn escaped_octets(&mut self, bytes: &mut Vec<u8>) -> Result<(), GoYamlError> {
        let mut left = None;
        while left != Some(0) {
            self.source.need(3)?;
            let digit = |offset| self.source.ahead(offset).to_digit(16);
            let (Some(high), Some(low), '%') = (digit(1), digit(2), self.source.peek()) else {
                return self.stop("did not find URI escaped octet");
            };
            let octet = u8::try_from(high << 4 | low).unwrap_or_default();
            left = Some(match (left, octet) {
                (None, 0x00..=0x7f) => 0,
                (None, 0xc0..=0xdf) => 1,
                (None, 0xe0..=0xef) => 2,
                (None, 0xf0..=0xf7) => 3,
                (None, _) => return self.stop("found an incorrect leading UTF-8 octet"),
                (Some(left), 0x80..=0xbf) => left - 1,
                (Some(_), _) => return self.stop("found an incorrect trailing UTF-8 octet"),
            });
            bytes.push(octet);
            for _ in 0..3 {
                self.source.skip()?;
            }
        }
        Ok(())
    }

    /// Reads a line that begins with `%`.
    pub(super) fn directive(&mut self) -> Result<TokenKind, GoYamlError> {
        self.source.skip()?;
        let mut name = String::new();
        self.word(&mut name)?;
        if name.is_empty() {
            return self.stop("could not find expected directive name");
        }
        if !is_space_or_end(self.source.peek()) {
            return self.stop("found unexpected non-alphabetical character");
        }
        let directive = match name.as_str() {
            "YAML" => self.version()?,
            "TAG" => self.tag_directive()?,
            _ => return self.stop("found unknown directive name"),
        };
        self.blanks()?;
        self.comment()?;
        if !is_break_or_end(self.source.peek()) {
            return self.stop("did not find expected comment or line break");
        }
        if is_break(self.source.peek()) {
            self.source.line_break()?;
        }
        Ok(directive)
    }

    fn version(&mut self) -> Result<TokenKind, GoYamlError> {
        self.blanks()?;
        let major = self.version_number()?;
        if self.source.peek() != '.' {
            return self.stop("did not find expected digit or '.' character");
        }
        self.source.skip()?;
        let minor = self.version_number()?;
        Ok(TokenKind::Version { major, minor })
    }

    fn version_number(&mut self) -> Result<u32, GoYamlError> {
        let (mut value, mut length) = (0, 0);
        while let Some(digit) = self.source.peek().to_digit(10) {
            length += 1;
            if length > LONGEST_NUMBER {
                return self.stop("found extremely long version number");
            }
            value = value * 10 + digit;
            self.source.skip()?;
        }
        if length == 0 { self.stop("did not find expected version number") } else { Ok(value) }
    }

    fn tag_directive(&mut self) -> Result<TokenKind, GoYamlError> {
        self.blanks()?;
        let handle = self.handle(true)?;
        if !is_blank(self.source.peek()) {
            return self.stop("did not find expected whitespace");
        }
        self.blanks()?;
        let prefix = self.uri("")?;
        if !is_space_or_end(self.source.peek()) {
            return self.stop("did not find expected whitespace or line break");
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
