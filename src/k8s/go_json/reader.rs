//! Going through a document, value by value (the states of `scanner.go`).

use super::error::{Stop, SyntaxError, SyntaxProblem, TypeError};
use super::text::unquote;
use std::borrow::Cow;

/// How deep values may be nested (`maxNestingDepth`).
const MAX_DEPTH: usize = 10_000;

const OBJECT_KEY: &str = "looking for beginning of object key string";
const AFTER_KEY: &str = "after object key";
const AFTER_PAIR: &str = "after object key:value pair";
const AFTER_ELEMENT: &str = "after array element";
const IN_ESCAPE: &str = "in \\u hexadecimal character escape";

/// What kind of value comes next.
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
    bytes: &'a [u8],
    at: usize,
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

    /// Returns what kind of value comes next.
    ///
    /// # Errors
    ///
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
    ///
    /// # Errors
    ///
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
    ///
    /// # Errors
    ///
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

    /// Reads a string, which must come next. What is no UTF-8 in it becomes U+FFFD.
    ///
    /// # Errors
    ///
    /// Fails where the text is no JSON.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
        let (inside, escaped) = self.scan_string()?;
        match std::str::from_utf8(inside) {
            Ok(text) if !escaped => Ok(Cow::Borrowed(text)),
            _ => Ok(Cow::Owned(unquote(inside))),
        }
    }

    /// Reads a number, which must come next, and returns it as it is written.
    ///
    /// # Errors
    ///
    /// Fails where the text is no JSON.
    pub fn number(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            byte => return Err(self.inside(byte, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.inside(self.peek(), "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.inside(self.peek(), "in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).expect("a number is ASCII"))
    }

    /// Reads `true` or `false`, one of which must come next.
    ///
    /// # Errors
    ///
    /// Fails where the text is no JSON.
    pub fn boolean(&mut self) -> Result<bool, Stop> {
        if self.peek() == Some(b't') {
            self.word(
                b"true",
                &[
                    "in literal true (expecting 'r')",
                    "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')",
                ],
            )?;
            return Ok(true);
        }
        self.word(
            b"false",
            &[
                "in literal false (expecting 'a')",
                "in literal false (expecting 'l')",
                "in literal false (expecting 's')",
                "in literal false (expecting 'e')",
            ],
        )?;
        Ok(false)
    }

    /// Reads `null`, which must come next.
    ///
    /// # Errors
    ///
    /// Fails where the text is no JSON.
    pub fn null(&mut self) -> Result<(), Stop> {
        self.word(
            b"null",
            &[
                "in literal null (expecting 'u')",
                "in literal null (expecting 'l')",
                "in literal null (expecting 'l')",
            ],
        )
    }

    /// Reads the value that comes next, of whatever kind, and forgets it.
    ///
    /// # Errors
    ///
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

    /// Returns the text of the value that comes next, for a value that reads itself.
    ///
    /// # Errors
    ///
    /// Fails where the text is no JSON.
    pub fn raw(&mut self) -> Result<&'a [u8], Stop> {
        self.kind()?;
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Keeps an error of type, if it is the first, and skips the value.
    ///
    /// # Errors
    ///
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

    /// Goes into a field of a structure, for the errors within.
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
    ///
    /// # Errors
    ///
    /// Fails where something comes.
    pub fn end(&mut self) -> Result<(), Stop> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(byte) => Err(self.invalid(byte, "after top-level value")),
        }
    }

    /// Closes what ends after a skipped value, and tells whether another value comes.
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

    fn begin_key(&mut self) -> Result<(), Stop> {
        match self.peek_past_space()? {
            b'"' => Ok(()),
            byte => Err(self.invalid(byte, OBJECT_KEY)),
        }
    }

    fn end_key(&mut self) -> Result<(), Stop> {
        match self.peek_past_space()? {
            b':' => {
                self.at += 1;
                Ok(())
            }
            byte => Err(self.invalid(byte, AFTER_KEY)),
        }
    }

    fn enter(&mut self, begin: u8) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.invalid(begin, "exceeded max depth"));
        }
        self.at += 1;
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it ends what can fail")]
    fn leave(&mut self) -> Result<(), Stop> {
        self.depth -= 1;
        self.at += 1;
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Reads a word whose first letter has been seen.
    fn word(&mut self, word: &[u8], contexts: &[&'static str]) -> Result<(), Stop> {
        self.at += 1;
        for (&letter, context) in word[1..].iter().zip(contexts) {
            if self.peek() != Some(letter) {
                return Err(self.inside(self.peek(), context));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Goes past a string; returns what is inside, and whether it has escapes.
    fn scan_string(&mut self) -> Result<(&'a [u8], bool), Stop> {
        let bytes = self.bytes;
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_run(&bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok((&bytes[start..self.at - 1], escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) => return Err(self.invalid(byte, "in string literal")),
                None => return Err(self.cut()),
            }
        }
    }

    /// Goes past what follows a backslash.
    fn escape(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.inside(self.peek(), IN_ESCAPE));
                    }
                    self.at += 1;
                }
            }
            byte => return Err(self.inside(byte, "in string escape code")),
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn peek_past_space(&mut self) -> Result<u8, Stop> {
        self.space();
        self.peek().ok_or_else(|| self.cut())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Returns the error about a byte inside a literal; at the end of the text Go looks at a blank.
    fn inside(&self, byte: Option<u8>, context: &'static str) -> Stop {
        self.invalid(byte.unwrap_or(b' '), context)
    }

    fn invalid(&self, byte: u8, context: &'static str) -> Stop {
        Stop::Syntax(SyntaxError {
            offset: self.at,
            problem: SyntaxProblem::Byte { byte, context },
        })
    }

    fn cut(&self) -> Stop {
        Stop::Syntax(SyntaxError { offset: self.at, problem: SyntaxProblem::End })
    }
}

/// Counts the bytes before the next quote, backslash or control character.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut run = 0;
    // Eight at a time. A borrow can only mark a byte above one that is marked rightly.
    while let Some(chunk) = bytes.get(run..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | backslash | control) & HIGH;
        if found != 0 {
            return run + found.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    let rest =
        bytes[run..].iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20);
    run + rest.count()
}
