//! Going past a value without looking into it. What is nested is kept in a list, so that no text, however
//! deep, takes more of the stack.

use super::error::Stop;
use super::reader::{AFTER_ELEMENT, AFTER_PAIR, Kind, Reader};

impl Reader<'_> {
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
}
