//! JSON as Go's `encoding/json` reads and writes it, with the exact errors: the kubelet's reading of its
//! own state files.
//!
//! [`decode`] fills a value in one pass, and without a tree. The rules are those of `decode.go` and
//! `scanner.go` of Go 1.26 (v1 of the package); `checkpoint.jsonl` and `state_files.jsonl` pin them:
//!
//! * A syntax error takes precedence over all others. Of type errors the first in the document is kept, and
//!   decoding continues. A value that reads itself (Go's `UnmarshalJSON`) ends the decoding when it fails.
//! * The value may be filled already: a field that is absent keeps what it has, `null` makes lists, maps
//!   and pointers nil and leaves all else.
//! * Names of fields are found exactly, else without regard to case. A field may come twice: structures
//!   and maps merge, a list begins again with its old elements still in memory ([`GoList`]).
//!
//! A structure declares its fields in a table:
//!
//! ```
//! use kq_k8s::go_json::{Field, GoStruct, GoValue, decode};
//!
//! #[derive(Default)]
//! struct Block { size: u64, kind: String }
//!
//! impl GoStruct for Block {
//!     const TYPE: &'static str = "state.Block";
//!     const FIELDS: &'static [Field<Self>] = &[
//!         Field { name: "size", read: |block, reader| block.size.read(reader) },
//!         // A type with a name of its own.
//!         Field { name: "type", read: |block, reader| block.kind.read_as("v1.ResourceName", reader) },
//!     ];
//! }
//!
//! let mut block = Block::default();
//! let error = decode(br#"{"size": -1, "type": "memory"}"#, &mut block).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "json: cannot unmarshal number -1 into Go struct field Block.size of type uint64"
//! );
//! assert_eq!(block.kind, "memory");
//! ```

mod error;
mod list;
mod literal;
mod reader;
mod structure;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use error::{GoJsonError, Stop, SyntaxError, SyntaxProblem, TypeError};
pub use list::{GoBytes, GoKey, GoList};
pub use reader::{Kind, Reader};
pub use structure::go_struct;
pub use structure::{Field, GoStruct, Int};
pub use tree::Tree;
pub use write::{push_base64, push_string, to_go_json};

/// A place that JSON can be read into.
pub trait GoValue {
    /// Returns the type's name in Go, as its errors show it.
    fn go_type() -> String;

    /// Reads the value that comes next; of a type that has the given name in Go, or else that of
    /// [`GoValue::go_type`].
    /// Fails where the text is no JSON, and where a value that reads itself refuses. An error of type is
    /// none here: the reader keeps it ([`Reader::refuse`]).
    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop>;

    /// Reads the value that comes next.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Stop> {
        self.read_named(None, reader)
    }

    /// Reads the value that comes next, of a type that has a name of its own in Go.
    fn read_as(&mut self, name: &'static str, reader: &mut Reader<'_>) -> Result<(), Stop> {
        self.read_named(Some(name), reader)
    }
}

/// Reads a whole document into a value (`json.Unmarshal`).
/// Fails with the error of Go. The value is then as Go leaves it, but after an error of syntax: Go has
/// not touched it, and here it is filled up to there.
pub fn decode<T: GoValue>(bytes: &[u8], into: &mut T) -> Result<(), GoJsonError> {
    let mut reader = Reader::new(bytes);
    match into.read(&mut reader).and_then(|()| reader.end()) {
        Ok(()) => reader.first_error().map_or(Ok(()), |error| Err(GoJsonError::Type(error))),
        Err(Stop::Syntax(error)) => Err(GoJsonError::Syntax(error)),
        Err(Stop::Custom(text)) => {
            // What comes after it has not been looked at yet.
            check_syntax(bytes).map_err(GoJsonError::Syntax)?;
            Err(GoJsonError::Custom(text))
        }
    }
}

/// Checks that a text is one JSON value (`json.Valid`).
/// Fails with the error of Go.
pub fn check_syntax(bytes: &[u8]) -> Result<(), SyntaxError> {
    let mut reader = Reader::new(bytes);
    match reader.skip().and_then(|()| reader.end()) {
        Ok(()) | Err(Stop::Custom(_)) => Ok(()),
        Err(Stop::Syntax(error)) => Err(error),
    }
}
