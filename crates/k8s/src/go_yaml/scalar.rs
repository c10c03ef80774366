//! Scalars: plain, quoted, and those of a block (`scannerc.go`).

use super::scan::Scanner;
use super::source::{Mark, is_blank, is_break, is_break_or_end, is_space_or_end};
use super::{GoYamlError, scan_error};

/// The blanks and line breaks between two parts of a scalar.
#[derive(Default)]
struct Gap {
    blanks: String,
    /// The first line break.
    first: Option<char>,
    further: String,
}

impl Gap {
    /// Adds the gap to a text: blanks as they are, line breaks folded.
    fn fold_into(&mut self, text: &mut String) {
        match self.first.take() {
            None => text.push_str(&self.blanks),
            Some('\n') if self.further.is_empty() => text.push(' '),
            Some('\n') => text.push_str(&self.further),
            Some(other) => {
                text.push(other);
                text.push_str(&self.further);
            }
        }
        self.blanks.clear();
        self.further.clear();
    }
}

impl Scanner<'_> {
    fn fail<T>(&self, problem: &str) -> Result<T, GoYamlError> {
        Err(scan_error(problem, self.source.mark.line))
    }

    fn at_any_marker(&self) -> bool {
        self.at_marker('-') || self.at_marker('.')
    }

    /// Reads the rest of a line into a text.
    fn read(&mut self, text: &mut String) -> Result<(), GoYamlError> {
        text.push(self.source.peek());
        self.source.skip()
    }

    /// Reads a scalar without quotes; returns its text and its end.
    pub(super) fn plain_scalar(&mut self) -> Result<(String, Mark), GoYamlError> {
        let mut text = String::new();
        let mut gap = Gap::default();
        let mut end = self.source.mark;
        let least = self.indent.map_or(0, |indent| indent + 1);
        loop {
            self.source.need(4)?;
            if self.at_any_marker() || self.source.peek() == '#' {
                break;
            }
            while !is_space_or_end(self.source.peek()) && !self.ends_plain() {
                gap.fold_into(&mut text);
                self.read(&mut text)?;
                end = self.source.mark;
            }
            if !is_blank(self.source.peek()) && !is_break(self.source.peek()) {
                break;
            }
            self.plain_gap(&mut gap, least)?;
            if !self.in_flow() && self.source.mark.column < least {
                break;
            }
        }
        if gap.first.is_some() {
            self.key_allowed = true;
        }
        Ok((text, end))
    }

    fn ends_plain(&self) -> bool {
        let char = self.source.peek();
        (char == ':' && is_space_or_end(self.source.ahead(1)))
            || (self.in_flow() && matches!(char, ',' | '?' | '[' | ']' | '{' | '}'))
    }

    fn plain_gap(&mut self, gap: &mut Gap, least: usize) -> Result<(), GoYamlError> {
        loop {
            let char = self.source.peek();
            if is_blank(char) {
                if gap.first.is_some() && self.source.mark.column < least && char == '\t' {
                    return self.fail("found a tab character that violates indentation");
                }
            } else if !is_break(char) {
                return Ok(());
            }
            self.pass_gap(gap)?;
        }
    }

    fn pass_gap(&mut self, gap: &mut Gap) -> Result<(), GoYamlError> {
        if is_blank(self.source.peek()) {
            if gap.first.is_none() {
                gap.blanks.push(self.source.peek());
            }
            return self.source.skip();
        }
        let line_break = self.source.line_break()?;
        match gap.first {
            None => {
                gap.blanks.clear();
                gap.first = Some(line_break);
            }
            Some(_) => gap.further.push(line_break),
        }
        Ok(())
    }

    /// Reads a scalar in quotes.
    pub(super) fn quoted_scalar(&mut self, is_single: bool) -> Result<String, GoYamlError> {
        let quote = if is_single { '\'' } else { '"' };
        let mut text = String::new();
        self.source.skip()?;
        loop {
            self.source.need(4)?;
            if self.at_any_marker() {
                return self.fail("found unexpected document indicator");
            }
            if self.source.peek() == '\0' {
                return self.fail("found unexpected end of stream");
            }
            let mut gap = Gap::default();
            let mut folds_nothing = false;
            while !is_space_or_end(self.source.peek()) {
                let (char, next) = (self.source.peek(), self.source.ahead(1));
                if is_single && char == '\'' && next == '\'' {
                    text.push('\'');
                    self.source.skip()?;
                    self.source.skip()?;
                } else if char == quote {
                    break;
                } else if !is_single && char == '\\' && is_break(next) {
                    self.source.skip()?;
                    self.source.line_break()?;
                    folds_nothing = true;
                    break;
                } else if !is_single && char == '\\' {
                    self.escape(&mut text)?;
                } else {
                    self.read(&mut text)?;
                }
            }
            if self.source.peek() == quote {
                break;
            }
            self.quoted_gap(&mut gap, folds_nothing)?;
            if !folds_nothing || gap.first.is_some() {
                gap.fold_into(&mut text);
            } else {
                text.push_str(&gap.further);
            }
        }
        self.source.skip()?;
        Ok(text)
    }

    /// Passes blanks and line breaks in quotes; after an escaped line break they all count as further ones.
    fn quoted_gap(&mut self, gap: &mut Gap, is_further: bool) -> Result<(), GoYamlError> {
        while is_blank(self.source.peek()) || is_break(self.source.peek()) {
            match is_further {
                true if is_blank(self.source.peek()) => self.source.skip()?,
                true => {
                    let line_break = self.source.line_break()?;
                    gap.further.push(line_break);
                }
                false => self.pass_gap(gap)?,
            }
        }
        Ok(())
    }

    fn escape(&mut self, text: &mut String) -> Result<(), GoYamlError> {
        let escaped = match self.source.ahead(1) {
            '0' => '\0',
            'a' => '\x07',
            'b' => '\x08',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\x0b',
            'f' => '\x0c',
            'r' => '\r',
            'e' => '\x1b',
            char @ (' ' | '"' | '\'' | '\\') => char,
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            'x' => return self.code_point(2, text),
            'u' => return self.code_point(4, text),
            'U' => return self.code_point(8, text),
            _ => return self.fail("found unknown escape character"),
        };
        text.push(escaped);
        self.source.skip()?;
        self.source.skip()
    }

    fn code_point(&mut self, digits: usize, text: &mut String) -> Result<(), GoYamlError> {
        self.source.skip()?;
        self.source.skip()?;
        self.source.need(digits)?;
        let mut value = 0_u32;
        for offset in 0..digits {
            let Some(digit) = self.source.ahead(offset).to_digit(16) else {
                return self.fail("did not find expected hexdecimal number");
            };
            value = (value << 4) | digit;
        }
        let Some(char) = char::from_u32(value) else {
            return self.fail("found invalid Unicode character escape code");
        };
        text.push(char);
        for _ in 0..digits {
            self.source.skip()?;
        }
        Ok(())
    }

    /// Reads a scalar of lines, after `|` or `>`.
    pub(super) fn block_scalar(&mut self, is_literal: bool) -> Result<String, GoYamlError> {
        self.source.skip()?;
        let (chomping, increment) = self.block_header()?;
        let mut indent = increment.map(|more| self.indent.unwrap_or(0) + more);
        let mut text = String::new();
        let mut leading: Option<char> = None;
        let mut trailing = String::new();
        self.block_breaks(&mut indent, &mut trailing)?;
        let mut was_blank = false;
        while Some(self.source.mark.column) == indent && self.source.peek() != '\0' {
            let begins_blank = is_blank(self.source.peek());
            let folds = !is_literal && !was_blank && !begins_blank && leading == Some('\n');
            match leading.take() {
                Some(_) if folds && trailing.is_empty() => text.push(' '),
                Some(char) if !folds => text.push(char),
                _ => {}
            }
            text.push_str(&trailing);
            trailing.clear();
            was_blank = begins_blank;
            while !is_break_or_end(self.source.peek()) {
                self.read(&mut text)?;
            }
            if is_break(self.source.peek()) {
                leading = Some(self.source.line_break()?);
            }
            self.block_breaks(&mut indent, &mut trailing)?;
        }
        if chomping != Some('-') {
            text.extend(leading);
        }
        if chomping == Some('+') {
            text.push_str(&trailing);
        }
        Ok(text)
    }

    /// Reads what stands behind `|` or `>`: how the end is treated, and the indentation.
    fn block_header(&mut self) -> Result<(Option<char>, Option<usize>), GoYamlError> {
        let (mut chomping, mut increment) = (None, None);
        for _ in 0..2 {
            match self.source.peek() {
                sign @ ('+' | '-') if chomping.is_none() => chomping = Some(sign),
                '0' if increment.is_none() => {
                    return self.fail("found an indentation indicator equal to 0");
                }
                digit if digit.is_ascii_digit() && increment.is_none() => {
                    increment = digit.to_digit(10).map(|digit| digit as usize);
                }
                _ => break,
            }
            self.source.skip()?;
        }
        while is_blank(self.source.peek()) {
            self.source.skip()?;
        }
        self.comment()?;
        if !is_break_or_end(self.source.peek()) {
            return self.fail("did not find expected comment or line break");
        }
        if is_break(self.source.peek()) {
            self.source.line_break()?;
        }
        Ok((chomping, increment))
    }

    /// Passes indentation and empty lines; finds the indentation where it is not known.
    fn block_breaks(
        &mut self,
        indent: &mut Option<usize>,
        breaks: &mut String,
    ) -> Result<(), GoYamlError> {
        let mut widest = 0;
        loop {
            let is_inside = |column: usize| indent.is_none_or(|indent| column < indent);
            while is_inside(self.source.mark.column) && self.source.peek() == ' ' {
                self.source.skip()?;
            }
            widest = widest.max(self.source.mark.column);
            if is_inside(self.source.mark.column) && self.source.peek() == '\t' {
                return self.fail("found a tab character where an indentation space is expected");
            }
            if !is_break(self.source.peek()) {
                break;
            }
            breaks.push(self.source.line_break()?);
        }
        let least = self.indent.map_or(0, |indent| indent + 1).max(1);
        indent.get_or_insert(widest.max(least));
        Ok(())
    }
}
