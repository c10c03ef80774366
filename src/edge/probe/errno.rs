//! Errors of the kernel, in the words of Go.

use std::io;

/// Returns the text that Go's `syscall.Errno` has for an error (`zerrors_linux_*.go`).
///
/// It is that of glibc without the capital at its start; the C library that kq is linked with may have
/// other words, and so those that a probe meets are listed.
pub fn errno_text(error: &io::Error) -> String {
    use rustix::io::Errno;
    let Some(code) = error.raw_os_error() else { return error.to_string() };
    let listed = match Errno::from_raw_os_error(code) {
        Errno::PERM => "operation not permitted",
        Errno::IO => "input/output error",
        Errno::AGAIN => "resource temporarily unavailable",
        Errno::NOMEM => "cannot allocate memory",
        Errno::ACCESS => "permission denied",
        Errno::INVAL => "invalid argument",
        Errno::NFILE => "too many open files in system",
        Errno::MFILE => "too many open files",
        Errno::PIPE => "broken pipe",
        Errno::PROTO => "protocol error",
        Errno::NOPROTOOPT => "protocol not available",
        Errno::PROTONOSUPPORT => "protocol not supported",
        Errno::AFNOSUPPORT => "address family not supported by protocol",
        Errno::ADDRINUSE => "address already in use",
        Errno::ADDRNOTAVAIL => "cannot assign requested address",
        Errno::NETDOWN => "network is down",
        Errno::NETUNREACH => "network is unreachable",
        Errno::NETRESET => "network dropped connection on reset",
        Errno::CONNABORTED => "software caused connection abort",
        Errno::CONNRESET => "connection reset by peer",
        Errno::NOBUFS => "no buffer space available",
        Errno::ISCONN => "transport endpoint is already connected",
        Errno::NOTCONN => "transport endpoint is not connected",
        Errno::TIMEDOUT => "connection timed out",
        Errno::CONNREFUSED => "connection refused",
        Errno::HOSTDOWN => "host is down",
        Errno::HOSTUNREACH => "no route to host",
        _ => return unlisted(&error.to_string()),
    };
    listed.to_owned()
}

/// Returns the text of Rust without its end, ` (os error 95)`, and without the capital.
fn unlisted(text: &str) -> String {
    let text = text.rsplit_once(" (os error ").map_or(text, |(text, _)| text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_the_words_of_go() {
        for (code, expected) in [
            (111, "connection refused"),
            (104, "connection reset by peer"),
            (101, "network is unreachable"),
            (113, "no route to host"),
            (110, "connection timed out"),
            (95, "operation not supported"),
        ] {
            assert_eq!(errno_text(&io::Error::from_raw_os_error(code)), expected, "{code}");
        }
        assert_eq!(errno_text(&io::Error::other("closed")), "closed");
    }
}
