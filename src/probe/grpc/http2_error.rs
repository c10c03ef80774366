//! The error codes of HTTP/2 (RFC 9113, section 7), by their names, and what grpc-go makes of them
//! (`http2ErrConvTab` in `internal/transport/http_util.go`).

use super::GrpcCode;

const CODES: [(&str, GrpcCode); 14] = [
    ("NO_ERROR", GrpcCode::Internal),
    ("PROTOCOL_ERROR", GrpcCode::Internal),
    ("INTERNAL_ERROR", GrpcCode::Internal),
    ("FLOW_CONTROL_ERROR", GrpcCode::ResourceExhausted),
    ("SETTINGS_TIMEOUT", GrpcCode::Internal),
    ("STREAM_CLOSED", GrpcCode::Internal),
    ("FRAME_SIZE_ERROR", GrpcCode::Internal),
    ("REFUSED_STREAM", GrpcCode::Unavailable),
    ("CANCEL", GrpcCode::Canceled),
    ("COMPRESSION_ERROR", GrpcCode::Internal),
    ("CONNECT_ERROR", GrpcCode::Internal),
    ("ENHANCE_YOUR_CALM", GrpcCode::ResourceExhausted),
    ("INADEQUATE_SECURITY", GrpcCode::PermissionDenied),
    ("HTTP_1_1_REQUIRED", GrpcCode::Internal),
];

/// The code of a stream that the server did not begin with.
pub const REFUSED_STREAM: u32 = 7;

fn known(code: u32) -> Option<&'static (&'static str, GrpcCode)> {
    CODES.get(usize::try_from(code).ok()?)
}

/// Returns the name of a code.
pub fn http2_error_name(code: u32) -> String {
    known(code)
        .map_or_else(|| format!("unknown error code {code:#x}"), |(name, _)| (*name).to_owned())
}

/// Returns the gRPC code of a stream that was reset with a code.
pub(super) fn code_of_reset(code: u32) -> GrpcCode {
    known(code).map_or(GrpcCode::Unknown, |(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        assert_eq!(http2_error_name(8), "CANCEL");
        assert_eq!(http2_error_name(13), "HTTP_1_1_REQUIRED");
        assert_eq!(http2_error_name(14), "unknown error code 0xe");
        assert_eq!(code_of_reset(11), GrpcCode::ResourceExhausted);
        assert_eq!(code_of_reset(14), GrpcCode::Unknown);
    }
}
