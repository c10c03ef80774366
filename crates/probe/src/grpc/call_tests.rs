use super::*;

type Field = (&'static str, &'static str);

const GRPC: Field = ("content-type", "application/grpc");

fn fields(fields: &[Field]) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    fields.iter().copied().map(|(name, value)| (name, value.as_bytes()))
}

fn shown(outcome: Option<Outcome>) -> String {
    match outcome {
        None => "goes on".to_owned(),
        Some(Ok(status)) => format!("answered {status}"),
        Some(Err(failure)) => {
            let text = failure.status.to_string();
            text.strip_prefix("rpc error: code = ").expect("an error").to_owned()
        }
    }
}

#[test]
fn headers_are_judged_as_grpc_go_does() {
    let rows: [(&str, u16, &[Field], bool, &str); 19] = [
        ("good", 200, &[GRPC], false, "goes on"),
        ("with a subtype", 200, &[("content-type", "application/grpc+proto")], false, "goes on"),
        ("whatever the status", 503, &[GRPC], false, "goes on"),
        ("the second type is good", 200, &[("content-type", "x"), GRPC], false, "goes on"),
        (
            "HTML",
            200,
            &[("content-type", "text/html")],
            false,
            "Unknown desc = unexpected HTTP status code received from server: 200 (OK); transport: received unexpected content-type \"text/html\"",
        ),
        (
            "nearly gRPC",
            200,
            &[("content-type", "application/grpcx")],
            false,
            "Unknown desc = unexpected HTTP status code received from server: 200 (OK); transport: received unexpected content-type \"application/grpcx\"",
        ),
        (
            "no type",
            503,
            &[],
            true,
            "Unavailable desc = unexpected HTTP status code received from server: 503 (Service Unavailable); malformed header: missing HTTP content-type",
        ),
        (
            "not found",
            404,
            &[],
            true,
            "Unimplemented desc = unexpected HTTP status code received from server: 404 (Not Found); malformed header: missing HTTP content-type",
        ),
        (
            "Go's own words",
            413,
            &[],
            true,
            "Unknown desc = unexpected HTTP status code received from server: 413 (Request Entity Too Large); malformed header: missing HTTP content-type",
        ),
        (
            "no words",
            599,
            &[],
            true,
            "Unknown desc = unexpected HTTP status code received from server: 599 (); malformed header: missing HTTP content-type",
        ),
        ("only trailers", 200, &[GRPC, ("grpc-status", "5")], true, "NotFound desc = "),
        (
            "with a text",
            200,
            &[GRPC, ("grpc-status", "5"), ("grpc-message", "a%20b%C3%BC%zz%4")],
            true,
            "NotFound desc = a b\u{fc}%zz%4",
        ),
        (
            "the last counts",
            200,
            &[GRPC, ("grpc-status", "5"), ("grpc-status", "2")],
            true,
            "Unknown desc = ",
        ),
        ("unknown code", 200, &[GRPC, ("grpc-status", "99")], true, "Code(99) desc = "),
        ("negative code", 200, &[GRPC, ("grpc-status", "-1")], true, "Code(4294967295) desc = "),
        ("no code", 200, &[GRPC], true, "Unknown desc = "),
        (
            "no number",
            200,
            &[GRPC, ("grpc-status", "x")],
            true,
            "Unknown desc = transport: malformed grpc-status: strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
        (
            "too large a number",
            200,
            &[GRPC, ("grpc-status", "2147483648")],
            true,
            "Unknown desc = transport: malformed grpc-status: strconv.ParseInt: parsing \"2147483648\": value out of range",
        ),
        (
            "well, and nothing else",
            200,
            &[GRPC, ("grpc-status", "0")],
            true,
            "Internal desc = cardinality violation: received no response message from non-server-streaming RPC",
        ),
    ];
    for (name, status, given, is_end, expected) in rows {
        let got = Call::default().headers(status, fields(given), is_end);
        assert_eq!(shown(got), expected, "{name}");
    }
}

#[test]
fn messages_are_judged_as_grpc_go_does() {
    let ok: &[Field] = &[("grpc-status", "0")];
    let serving = [0, 0, 0, 0, 2, 8, 1];
    let twice = [serving, serving].concat();
    type Row<'r> = (&'static str, &'static str, &'r [u8], &'r [Field], &'static str);
    let deflated = [
        1, 0, 0, 0, 22, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xe3, 0x60, 4, 0, 0x61, 0xa8, 7, 0xfe,
        2, 0, 0, 0,
    ];
    let rows: [Row<'_>; 16] = [
        ("serving", "", &serving, ok, "answered 1"),
        ("empty message", "", &[0; 5], ok, "answered 0"),
        ("with an encoding", "gzip", &serving, ok, "answered 1"),
        (
            "an error after it",
            "",
            &serving,
            &[("grpc-status", "13"), ("grpc-message", "m")],
            "Internal desc = m",
        ),
        ("no code after it", "", &serving, &[], "Unknown desc = "),
        (
            "two",
            "",
            &twice,
            ok,
            "Internal desc = cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
        ),
        (
            "none",
            "",
            &[],
            ok,
            "Internal desc = cardinality violation: received no response message from non-server-streaming RPC",
        ),
        ("none and an error", "", &[], &[("grpc-status", "14")], "Unavailable desc = "),
        ("cut in the length", "", &[0, 0], ok, "Internal desc = unexpected EOF"),
        (
            "cut in the message",
            "",
            &[0, 0, 0, 0, 2, 8],
            &[("grpc-status", "5")],
            "Internal desc = unexpected EOF",
        ),
        (
            "too large",
            "",
            &[0, 0, 64, 0, 1],
            ok,
            "ResourceExhausted desc = grpc: received message larger than max (4194305 vs. 4194304)",
        ),
        ("compressed with gzip", "gzip", &deflated, ok, "answered 1"),
        (
            "compressed with nothing in it",
            "gzip",
            &[1, 0, 0, 0, 0],
            ok,
            "Internal desc = grpc: failed to decompress the message: EOF",
        ),
        (
            "compressed otherwise",
            "snappy",
            &[1, 0, 0, 0, 0],
            ok,
            "Internal desc = grpc: Decompressor is not installed for grpc-encoding \"snappy\"",
        ),
        (
            "compressed by nothing",
            "identity",
            &[1, 0, 0, 0, 0],
            ok,
            "Internal desc = grpc: compressed flag set with identity or empty encoding",
        ),
        (
            "format 2",
            "",
            &[2, 0, 0, 0, 0],
            ok,
            "Internal desc = grpc: received unexpected payload format 2",
        ),
    ];
    for (name, encoding, data, trailers, expected) in rows {
        for size in [1, 3, 100] {
            let mut call = Call::default();
            let headers = [GRPC, ("grpc-encoding", encoding)];
            assert_eq!(call.headers(200, fields(&headers), false), None, "{name}");
            let ended = data.chunks(size).find_map(|part| call.data(part));
            let got = ended.unwrap_or_else(|| call.trailers(fields(trailers)));
            assert_eq!(shown(Some(got)), expected, "{name} by {size}");
        }
    }
    let mut call = Call::default();
    assert_eq!(
        shown(call.data(&[0, 0, 0, 0, 1, 8])),
        "Internal desc = grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data"
    );
    assert_eq!(
        shown(Some(Call::default().end_without_trailers())),
        "Internal desc = server closed the stream without sending trailers"
    );
}

#[test]
fn ends_of_streams_and_connections_are_distinguished() {
    let scan = FrameScan::default();
    let mut going = FrameScan::default();
    going.read(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    going.read(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    let mut speaking = going.clone();
    speaking.read(&[0, 0, 10, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 11, b'h', b'"']);
    for (failure, expected) in [
        (
            CallFailure::reset(8),
            "Canceled desc = stream terminated by RST_STREAM with error code: CANCEL",
        ),
        (
            CallFailure::reset(99),
            "Unknown desc = stream terminated by RST_STREAM with error code: unknown error code 0x63",
        ),
        (
            CallFailure::disconnected("EOF", &scan),
            "Unavailable desc = error reading from server: EOF",
        ),
        (
            CallFailure::disconnected("EOF", &going),
            "Unavailable desc = closing transport due to: connection error: desc = \"error reading from server: EOF\", received prior goaway: code: NO_ERROR",
        ),
        (
            CallFailure::disconnected("EOF", &speaking),
            "Unavailable desc = closing transport due to: connection error: desc = \"error reading from server: EOF\", received prior goaway: code: ENHANCE_YOUR_CALM, debug data: \"h\\\"\"",
        ),
        (
            CallFailure::not_connected("transport: x", Cause::Connect),
            "Unavailable desc = connection error: desc = \"transport: x\"",
        ),
        (CallFailure::draining(), "Unavailable desc = the connection is draining"),
        (CallFailure::too_late(), "DeadlineExceeded desc = context deadline exceeded"),
    ] {
        assert_eq!(shown(Some(Err(failure))), expected);
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_are_too_odd(parts: Vec<Vec<u8>>, is_preface: bool) {
        let mut scan = FrameScan::default();
        if is_preface {
            scan.read(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        }
        let mut call = Call::default();
        for part in &parts {
            scan.read(part);
            let _ = decode_response(part);
            let _ = percent_decoded(part);
            let _ = read_code(part);
            if call.data(part).is_some() {
                break;
            }
        }
        let _ = CallFailure::disconnected(scan.text_at_end(), &scan);
    }
}
