//! Going through a document, value by value (the states of `scanner.go`): objects, arrays, and the errors
//! of type within.
//!
//! Skipping a value without decoding it. Nesting is kept in a list, so that no depth of a
//! text uses more of the stack.

use super::error::{Stop, SyntaxError, SyntaxProblem, TypeError};
use std::borrow::Cow;

/// How deep values may be nested (`maxNestingDepth`).
const MAX_DEPTH: usize = 10_000;

const OBJECT_KEY: &str = "looking for beginning of object key string";
const AFTER_KEY: &str = "after object key";
pub(super) const AFTER_PAIR: &str = "after object key:value pair";
pub(super) const AFTER_ELEMENT: &str = "after array element";

/// The kind of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// `-`, or a digit.
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// Returns how an error of type calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Null => "null",
        }
    }
}

/// A document that is being read.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    path: Vec<&'static str>,
    structure: Option<&'static str>,
    error: Option<TypeError>,
}

impl<'a> Reader<'a> {
    /// Begins with a document.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, path: Vec::new(), structure: None, error: None }
    }

    /// Returns the first error of type.
    pub fn first_error(self) -> Option<TypeError> {
        self.error
    }

    /// Returns how many bytes have been read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the kind of the next value.
    /// Fails where none does.
    pub fn kind(&mut self) -> Result<Kind, Stop> {
        match self.peek_past_space()? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' => Ok(Kind::String),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b't' | b'f' => Ok(Kind::Bool),
            b'n' => Ok(Kind::Null),
            byte => Err(self.invalid(byte, "looking for beginning of value")),
        }
    }

    /// Reads an object, which must come next: `field` gets each key, and must read its value.
    /// Fails where the text is no JSON, and where `field` does.
    pub fn object<F>(&mut self, mut field: F) -> Result<(), Stop>
    where
        F: FnMut(&mut Self, Cow<'a, str>) -> Result<(), Stop>,
    {
        self.enter(b'{')?;
        if self.peek_past_space()? == b'}' {
            return self.leave();
        }
        loop {
            self.begin_key()?;
            let key = self.string()?;
            self.end_key()?;
            field(self, key)?;
            match self.peek_past_space()? {
                b',' => self.at += 1,
                b'}' => return self.leave(),
                byte => return Err(self.invalid(byte, AFTER_PAIR)),
            }
        }
    }

    /// Reads an array, which must come next: `element` must read a value each time.
    /// Fails where the text is no JSON, and where `element` does.
    pub fn array<F>(&mut self, mut element: F) -> Result<(), Stop>
    where
        F: FnMut(&mut Self) -> Result<(), Stop>,
    {
        self.enter(b'[')?;
        if self.peek_past_space()? == b']' {
            return self.leave();
        }
        loop {
            element(self)?;
            match self.peek_past_space()? {
                b',' => self.at += 1,
                b']' => return self.leave(),
                byte => return Err(self.invalid(byte, AFTER_ELEMENT)),
            }
        }
    }

    /// Returns the text of the value that comes next, for a value that reads itself.
    /// Fails where the text is no JSON.
    pub fn raw(&mut self) -> Result<&'a [u8], Stop> {
        self.kind()?;
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Keeps an error of type, if it is the first, and skips the value.
    /// Fails where the text is no JSON.
    pub fn refuse(&mut self, kind: Kind, go_type: impl FnOnce() -> String) -> Result<(), Stop> {
        self.mismatch(kind.name().to_owned(), go_type);
        self.skip()
    }

    /// Keeps an error of type, if it is the first, about a value that has been read.
    pub fn mismatch(&mut self, value: String, go_type: impl FnOnce() -> String) {
        if self.error.is_none() {
            let place = self.structure.map(|structure| (structure, self.path.clone()));
            self.error = Some(TypeError::Mismatch { value, place, go_type: go_type() });
        }
    }

    /// Keeps an error of base64, if it is the first error.
    pub(super) fn bad_base64(&mut self, at: usize) {
        self.error.get_or_insert(TypeError::Base64(at));
    }

    /// Enters a field of a structure, for the errors within.
    pub(super) fn in_field<R>(
        &mut self,
        structure: &'static str,
        field: &'static str,
        read: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = self.structure.replace(structure);
        self.path.push(field);
        let result = read(self);
        self.path.pop();
        self.structure = outer;
        result
    }

    /// Ends the document: nothing but space may come.
    /// Fails where something comes.
    pub fn end(&mut self) -> Result<(), Stop> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(byte) => Err(self.invalid(byte, "after top-level value")),
        }
    }

    pub(super) fn begin_key(&mut self) -> Result<(), Stop> {
        match self.peek_past_space()? {
            b'"' => Ok(()),
            byte => Err(self.invalid(byte, OBJECT_KEY)),
        }
    }

    pub(super) fn end_key(&mut self) -> Result<(), Stop> {
        match self.peek_past_space()? {
            b':' => {
                self.at += 1;
                Ok(())
            }
            byte => Err(self.invalid(byte, AFTER_KEY)),
        }
    }

    pub(super) fn enter(&mut self, begin: u8) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.invalid(begin, "exceeded max depth"));
        }
        self.at += 1;
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it ends what can fail")]
    pub(super) fn leave(&mut self) -> Result<(), Stop> {
        self.depth -= 1;
        self.at += 1;
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn peek_past_space(&mut self) -> Result<u8, Stop> {
        self.space();
        self.peek().ok_or_else(|| self.cut())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    pub(super) fn invalid(&self, byte: u8, context: &'static str) -> Stop {
        Stop::Syntax(SyntaxError {
            offset: self.at,
            problem: SyntaxProblem::Byte { byte, context },
        })
    }

    pub(super) fn cut(&self) -> Stop {
        Stop::Syntax(SyntaxError { offset: self.at, problem: SyntaxProblem::End })
    }
}

impl Reader<'_> {
    /// Skips the next value, of any kind.
    /// Fails where the text is no JSON.
    pub fn skip(&mut self) -> Result<(), Stop> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            let kind = self.kind()?;
            match kind {
                Kind::Object | Kind::Array => {
                    let (begin, end) =
                        if kind == Kind::Object { (b'{', b'}') } else { (b'[', b']') };
                    self.enter(begin)?;
                    open.push(begin);
                    if self.peek_past_space()? != end {
                        if kind == Kind::Object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                    open.pop();
                    self.leave()?;
                }
                Kind::String => drop(self.scan_string()?),
                Kind::Number => drop(self.number()?),
                Kind::Bool => drop(self.boolean()?),
                Kind::Null => self.null()?,
            }
            if !self.skip_ends(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Closes the nesting that ends after a skipped value; returns true if another value follows.
    fn skip_ends(&mut self, open: &mut Vec<u8>) -> Result<bool, Stop> {
        while let Some(&begin) = open.last() {
            match (self.peek_past_space()?, begin) {
                (b',', b'{') => {
                    self.at += 1;
                    self.skip_key()?;
                    return Ok(true);
                }
                (b',', _) => {
                    self.at += 1;
                    return Ok(true);
                }
                (b'}', b'{') | (b']', b'[') => {
                    open.pop();
                    self.leave()?;
                }
                (byte, b'{') => return Err(self.invalid(byte, AFTER_PAIR)),
                (byte, _) => return Err(self.invalid(byte, AFTER_ELEMENT)),
            }
        }
        Ok(false)
    }

    fn skip_key(&mut self) -> Result<(), Stop> {
        self.begin_key()?;
        self.scan_string()?;
        self.end_key()
    }
}
