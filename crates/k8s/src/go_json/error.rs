//! The errors of a document, in Go's words.

use std::fmt;

/// Why a document could not be decoded. Its text is that of Go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoJsonError {
    /// The text is no JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A value has another type than its place.
    #[error(transparent)]
    Type(TypeError),
    /// A value that reads itself refused.
    #[error("{0}")]
    Custom(String),
}

/// A text that is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SyntaxError {
    /// Where: the number of bytes before it.
    pub offset: usize,
    /// The error.
    pub problem: SyntaxProblem,
}

/// The errors of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxProblem {
    /// It is cut.
    End,
    /// An invalid byte.
    Byte {
        byte: u8,
        /// Its context: `after object key`.
        context: &'static str,
    },
}

impl fmt::Display for SyntaxProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::End => f.write_str("unexpected end of JSON input"),
            Self::Byte { byte, context } => {
                write!(f, "invalid character {} {context}", quoted(byte))
            }
        }
    }
}

/// Returns a byte as `quoteChar` in `scanner.go` shows it: as the character with its number.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = crate::go_text::quote(&char::from(byte).to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

/// The first error that is not one of syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A value of another type (`UnmarshalTypeError`).
    Mismatch {
        /// The value of the document: `array`, `number 1.5`.
        value: String,
        /// The innermost structure, and the path of fields to the value.
        place: Option<(&'static str, Vec<&'static str>)>,
        /// The expected type.
        go_type: String,
    },
    /// Bytes that are not in base64 from this one on.
    Base64(usize),
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { value, place: Some((structure, path)), go_type } => write!(
                f,
                "json: cannot unmarshal {value} into Go struct field {structure}.{} of type {go_type}",
                path.join(".")
            ),
            Self::Mismatch { value, place: None, go_type } => {
                write!(f, "json: cannot unmarshal {value} into Go value of type {go_type}")
            }
            Self::Base64(at) => write!(f, "illegal base64 data at input byte {at}"),
        }
    }
}

/// Why reading ends before the end of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text is no JSON.
    Syntax(SyntaxError),
    /// A value that reads itself refuses, with this text.
    Custom(String),
}
