//! Characters to tokens (`scannerc.go`): indentation, and the keys that show only at their `:`.

use super::source::{Mark, Source, is_blank, is_break, is_break_or_end, is_space_or_end};
use super::{GoYamlError, scan_error};
use std::collections::VecDeque;

/// How many characters a key without `?` may have.
const LONGEST_KEY: usize = 1024;
/// The deepest nesting of the kubelet.
const DEEPEST: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub start: Mark,
    pub end: Mark,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    StreamEnd,
    Version { major: u32, minor: u32 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, is_plain: bool },
}

/// What may turn out to be a key.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    is_possible: bool,
    is_required: bool,
    /// The number of its token.
    token: usize,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    pub source: Source<'a>,
    tokens: VecDeque<Token>,
    /// How many tokens were taken.
    taken: usize,
    /// The column of the innermost block; `None`: outside of all.
    pub indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// One for each level of flow, and one for the block.
    keys: Vec<SimpleKey>,
    pub key_allowed: bool,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, GoYamlError> {
        Ok(Self {
            source: Source::new(bytes),
            tokens: VecDeque::new(),
            taken: 0,
            indent: None,
            indents: Vec::new(),
            keys: vec![SimpleKey::default()],
            key_allowed: true,
        })
    }

    /// Returns the next token; after the end of the text, its end.
    pub fn peek(&mut self) -> Result<&Token, GoYamlError> {
        while self.tokens.is_empty() || self.front_may_be_key()? {
            self.fetch()?;
        }
        match self.tokens.front() {
            Some(token) => Ok(token),
            None => Err(GoYamlError::Yaml("unknown problem parsing YAML content".to_owned())),
        }
    }

    /// Takes the next token.
    pub fn take(&mut self) -> Result<Token, GoYamlError> {
        let token = self.peek()?.clone();
        if token.kind != TokenKind::StreamEnd {
            self.tokens.pop_front();
            self.taken += 1;
        }
        Ok(token)
    }

    pub fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    /// Returns true if more tokens are needed to know whether the next one begins a key.
    fn front_may_be_key(&mut self) -> Result<bool, GoYamlError> {
        let taken = self.taken;
        match self.keys.iter().position(|key| key.is_possible && key.token == taken) {
            Some(at) => self.is_valid_key(at),
            None => Ok(false),
        }
    }

    fn is_valid_key(&mut self, at: usize) -> Result<bool, GoYamlError> {
        let here = self.source.mark;
        let Some(key) = self.keys.get_mut(at).filter(|key| key.is_possible) else {
            return Ok(false);
        };
        if key.mark.line < here.line || key.mark.index + LONGEST_KEY < here.index {
            if key.is_required {
                return Err(scan_error("could not find expected ':'", here.line));
            }
            key.is_possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_key(&mut self) -> Result<(), GoYamlError> {
        if !self.key_allowed {
            return Ok(());
        }
        let mark = self.source.mark;
        let key = SimpleKey {
            is_possible: true,
            is_required: !self.in_flow() && self.indent == Some(mark.column),
            token: self.taken + self.tokens.len(),
            mark,
        };
        self.remove_key()?;
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Result<(), GoYamlError> {
        let line = self.source.mark.line;
        if let Some(key) = self.keys.last_mut().filter(|key| key.is_possible) {
            if key.is_required {
                return Err(scan_error("could not find expected ':'", line));
            }
            key.is_possible = false;
        }
        Ok(())
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        let end = self.source.mark;
        self.tokens.push_back(Token { kind, start, end });
    }

    /// Begins a block where its column is further in; before the token of a number, or at the end.
    fn roll_indent(
        &mut self,
        kind: TokenKind,
        mark: Mark,
        token: Option<usize>,
    ) -> Result<(), GoYamlError> {
        if self.in_flow() || self.indent.is_some_and(|indent| indent >= mark.column) {
            return Ok(());
        }
        self.indents.push(self.indent.replace(mark.column));
        if self.indents.len() > DEEPEST {
            let problem = format!("exceeded max depth of {DEEPEST}");
            return Err(scan_error(&problem, self.source.mark.line));
        }
        let at = token.map_or(self.tokens.len(), |token| token.saturating_sub(self.taken));
        self.tokens.insert(at.min(self.tokens.len()), Token { kind, start: mark, end: mark });
        Ok(())
    }

    /// Ends the blocks that are further in than a column; `None`: all.
    fn unroll_indent(&mut self, column: Option<usize>) {
        while !self.in_flow() && self.indent > column {
            self.push(TokenKind::BlockEnd, self.source.mark);
            self.indent = self.indents.pop().flatten();
        }
    }

    fn fetch(&mut self) -> Result<(), GoYamlError> {
        self.source.need(1)?;
        self.skip_to_token()?;
        let start = self.source.mark;
        self.unroll_indent(Some(start.column));
        self.source.need(4)?;
        let (char, next) = (self.source.peek(), self.source.ahead(1));
        let in_flow = self.in_flow();
        match char {
            '\0' => self.stream_end(),
            '%' if start.column == 0 => {
                self.between_documents()?;
                let kind = self.directive()?;
                self.push(kind, start);
                Ok(())
            }
            '-' if self.at_marker('-') => self.document_marker(TokenKind::DocumentStart),
            '.' if self.at_marker('.') => self.document_marker(TokenKind::DocumentEnd),
            '[' => self.flow_start(TokenKind::FlowSequenceStart),
            '{' => self.flow_start(TokenKind::FlowMappingStart),
            ']' => self.flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.flow_end(TokenKind::FlowMappingEnd),
            ',' => {
                self.remove_key()?;
                self.key_allowed = true;
                self.indicator(TokenKind::FlowEntry)
            }
            '-' if is_space_or_end(next) => self.block_entry(),
            '?' if in_flow || is_space_or_end(next) => self.key(),
            ':' if in_flow || is_space_or_end(next) => self.value(),
            '*' | '&' => {
                self.save_key()?;
                self.key_allowed = false;
                let kind = self.anchor()?;
                self.push(kind, start);
                Ok(())
            }
            '!' => {
                self.save_key()?;
                self.key_allowed = false;
                let kind = self.tag()?;
                self.push(kind, start);
                Ok(())
            }
            '|' | '>' if !in_flow => {
                self.remove_key()?;
                self.key_allowed = true;
                let text = self.block_scalar(char == '|')?;
                self.push(TokenKind::Scalar { text, is_plain: false }, start);
                Ok(())
            }
            '\'' | '"' => {
                self.save_key()?;
                self.key_allowed = false;
                let text = self.quoted_scalar(char == '\'')?;
                self.push(TokenKind::Scalar { text, is_plain: false }, start);
                Ok(())
            }
            _ if begins_plain(char, next, in_flow) => {
                self.save_key()?;
                self.key_allowed = false;
                let (text, end) = self.plain_scalar()?;
                let kind = TokenKind::Scalar { text, is_plain: true };
                self.tokens.push_back(Token { kind, start, end });
                Ok(())
            }
            _ => Err(scan_error("found character that cannot start any token", start.line)),
        }
    }

    /// Returns true at a line of `---` or `...`.
    pub(super) fn at_marker(&self, sign: char) -> bool {
        self.source.mark.column == 0
            && (0..3).all(|offset| self.source.ahead(offset) == sign)
            && is_space_or_end(self.source.ahead(3))
    }

    /// Passes blanks, comments and line breaks.
    fn skip_to_token(&mut self) -> Result<(), GoYamlError> {
        loop {
            if self.source.mark.column == 0 && self.source.peek() == '\u{feff}' {
                self.source.skip()?;
            }
            let tabs = self.in_flow() || !self.key_allowed;
            while self.source.peek() == ' ' || (tabs && self.source.peek() == '\t') {
                self.source.skip()?;
            }
            self.comment()?;
            if !is_break(self.source.peek()) {
                return Ok(());
            }
            self.source.line_break()?;
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    /// Passes a comment.
    pub(super) fn comment(&mut self) -> Result<(), GoYamlError> {
        if self.source.peek() == '#' {
            while !is_break_or_end(self.source.peek()) {
                self.source.skip()?;
            }
        }
        Ok(())
    }

    fn stream_end(&mut self) -> Result<(), GoYamlError> {
        if self.source.mark.column != 0 {
            self.source.mark.column = 0;
            self.source.mark.line += 1;
        }
        self.between_documents()?;
        self.push(TokenKind::StreamEnd, self.source.mark);
        Ok(())
    }

    fn between_documents(&mut self) -> Result<(), GoYamlError> {
        self.unroll_indent(None);
        self.remove_key()?;
        self.key_allowed = false;
        Ok(())
    }

    fn document_marker(&mut self, kind: TokenKind) -> Result<(), GoYamlError> {
        self.between_documents()?;
        let start = self.source.mark;
        for _ in 0..3 {
            self.source.skip()?;
        }
        self.push(kind, start);
        Ok(())
    }

    fn indicator(&mut self, kind: TokenKind) -> Result<(), GoYamlError> {
        let start = self.source.mark;
        self.source.skip()?;
        self.push(kind, start);
        Ok(())
    }

    fn flow_start(&mut self, kind: TokenKind) -> Result<(), GoYamlError> {
        self.save_key()?;
        self.keys.push(SimpleKey::default());
        if self.keys.len() - 1 > DEEPEST {
            let problem = format!("exceeded max depth of {DEEPEST}");
            return Err(scan_error(&problem, self.source.mark.line));
        }
        self.key_allowed = true;
        self.indicator(kind)
    }

    fn flow_end(&mut self, kind: TokenKind) -> Result<(), GoYamlError> {
        self.remove_key()?;
        if self.in_flow() {
            self.keys.pop();
        }
        self.key_allowed = false;
        self.indicator(kind)
    }

    fn block_entry(&mut self) -> Result<(), GoYamlError> {
        if !self.in_flow() {
            let problem = "block sequence entries are not allowed in this context";
            self.begin_block(TokenKind::BlockSequenceStart, problem)?;
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.indicator(TokenKind::BlockEntry)
    }

    fn key(&mut self) -> Result<(), GoYamlError> {
        if !self.in_flow() {
            let problem = "mapping keys are not allowed in this context";
            self.begin_block(TokenKind::BlockMappingStart, problem)?;
        }
        self.remove_key()?;
        self.key_allowed = !self.in_flow();
        self.indicator(TokenKind::Key)
    }

    fn begin_block(&mut self, kind: TokenKind, problem: &str) -> Result<(), GoYamlError> {
        let mark = self.source.mark;
        if !self.key_allowed {
            return Err(scan_error(problem, mark.line));
        }
        self.roll_indent(kind, mark, None)
    }

    fn value(&mut self) -> Result<(), GoYamlError> {
        let last = self.keys.len().saturating_sub(1);
        if self.is_valid_key(last)? {
            let key = self.keys.get(last).copied().unwrap_or_default();
            let at = key.token.saturating_sub(self.taken).min(self.tokens.len());
            let (start, end) = (key.mark, key.mark);
            self.tokens.insert(at, Token { kind: TokenKind::Key, start, end });
            self.roll_indent(TokenKind::BlockMappingStart, key.mark, Some(key.token))?;
            if let Some(key) = self.keys.last_mut() {
                key.is_possible = false;
            }
            self.key_allowed = false;
        } else {
            if !self.in_flow() {
                let problem = "mapping values are not allowed in this context";
                self.begin_block(TokenKind::BlockMappingStart, problem)?;
            }
            self.key_allowed = !self.in_flow();
        }
        self.indicator(TokenKind::Value)
    }
}

/// Returns true if a plain scalar may begin with a character.
fn begins_plain(char: char, next: char, in_flow: bool) -> bool {
    match char {
        '-' => !is_blank(next),
        '?' | ':' => !in_flow && !is_space_or_end(next),
        ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => false,
        char => !is_space_or_end(char),
    }
}
