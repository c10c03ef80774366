//! The status that ends a call (`codes` and `status` of grpc-go).

use std::fmt;

/// A status: a code and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcStatus {
    /// The code.
    pub code: u32,
    /// The text, with whatever bytes the server put into it.
    pub message: Vec<u8>,
}

/// A code that this program names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GrpcCode {
    /// The call was given up.
    Canceled = 1,
    /// Unknown.
    Unknown = 2,
    /// It took too long.
    DeadlineExceeded = 4,
    /// May not be called.
    PermissionDenied = 7,
    /// Too large, or too much.
    ResourceExhausted = 8,
    /// There is no such method.
    Unimplemented = 12,
    /// Something was against the rules.
    Internal = 13,
    /// The server is unavailable.
    Unavailable = 14,
    /// The caller must say who it is.
    Unauthenticated = 16,
}

const NAMES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

impl GrpcStatus {
    /// Makes a status of a code as it is on the wire.
    pub fn new(code: u32, message: impl Into<Vec<u8>>) -> Self {
        Self { code, message: message.into() }
    }

    /// Makes a status of a code.
    pub fn of(code: GrpcCode, message: impl Into<Vec<u8>>) -> Self {
        Self::new(code as u32, message)
    }

    /// Returns true for OK.
    pub fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// Returns true if the deadline expired, here or at the server.
    pub fn is_deadline_exceeded(&self) -> bool {
        self.code == GrpcCode::DeadlineExceeded as u32
    }

    /// Returns the error as grpc-go shows it, with the bytes of the text as they are.
    pub fn error_text(&self) -> Vec<u8> {
        let code = usize::try_from(self.code).ok().and_then(|code| NAMES.get(code));
        let mut text = match code {
            Some(name) => format!("rpc error: code = {name} desc = "),
            None => format!("rpc error: code = Code({}) desc = ", self.code),
        }
        .into_bytes();
        text.extend_from_slice(&self.message);
        text
    }
}

impl fmt::Display for GrpcStatus {
    /// As grpc-go shows the error; bytes that are no UTF-8 become U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.error_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shown_as_grpc_go_shows_them() {
        for (code, expected) in [
            (0, "rpc error: code = OK desc = m"),
            (1, "rpc error: code = Canceled desc = m"),
            (16, "rpc error: code = Unauthenticated desc = m"),
            (17, "rpc error: code = Code(17) desc = m"),
            (u32::MAX, "rpc error: code = Code(4294967295) desc = m"),
        ] {
            assert_eq!(GrpcStatus::new(code, "m").to_string(), expected);
        }
        let empty = GrpcStatus::of(GrpcCode::Unavailable, "");
        assert_eq!(empty.to_string(), "rpc error: code = Unavailable desc = ");
    }
}
