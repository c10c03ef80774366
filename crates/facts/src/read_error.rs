//! Why a file of the node was not read.

/// Why a file or folder was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It does not exist.
    #[error("no such file")]
    Absent,
    /// It has another type.
    #[error("{found}, expected {expected}")]
    Kind {
        found: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// It exceeds the limit.
    #[error("larger than {limit} bytes, which kq does not read")]
    TooLarge { limit: u64 },
    /// An untrusted user can change it; see `kq_io::trust`.
    #[error("not trusted: {0}")]
    Untrusted(String),
    /// The system call failed.
    #[error("{0}")]
    System(String),
}
