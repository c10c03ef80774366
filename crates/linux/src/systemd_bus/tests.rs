//! A bus that the tests make up, on a socket pair.

use super::*;
use std::thread;

/// Returns a reply to a call.
type Answer = fn(member: &str, call: &[u8]) -> Vec<Vec<u8>>;

/// Runs a bus that answers, and returns a connection to it.
fn bus(log_in: &'static str, answer: Answer) -> Result<SystemdBus, BusError> {
    let (own, theirs) = UnixStream::pair().expect("a pair");
    thread::spawn(move || serve(theirs, log_in, answer));
    SystemdBus::over(own, Duration::from_millis(500))
}

fn serve(mut stream: UnixStream, log_in: &str, answer: Answer) -> Option<()> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    assert!(line.starts_with(b"\0AUTH EXTERNAL 3"), "{line:?}");
    stream.write_all(log_in.as_bytes()).ok()?;
    let mut begin = [0; 7];
    stream.read_exact(&mut begin).ok()?;
    loop {
        let mut call = vec![0; wire::FIXED];
        stream.read_exact(&mut call).ok()?;
        call.resize(wire::length_of(&call).ok()?, 0);
        stream.read_exact(&mut call[wire::FIXED..]).ok()?;
        let text = String::from_utf8_lossy(&call).into_owned();
        let members = ["Hello", "GetUnit", "SetUnitProperties", "Get"];
        let member = members.into_iter().find(|member| text.contains(&format!("\0{member}\0")));
        for reply in answer(member.expect("a known method"), &call) {
            stream.write_all(&reply).ok()?;
        }
    }
}

/// Returns a message with one value, as the answer to a call.
fn reply(kind: u8, call: &[u8], signature: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'l', kind, 1, 1];
    bytes.extend(u32::try_from(body.len()).expect("small").to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    let mut fields = vec![5, 1, b'u', 0];
    fields.extend(&call[8..12]);
    if kind == 3 {
        fields.extend([4, 1, b's', 0, 5, 0, 0, 0]);
        fields.extend(b"org.E\0\0\0");
    }
    if !signature.is_empty() {
        fields.extend([8, 1, b'g', 0, u8::try_from(signature.len()).expect("short")]);
        fields.extend(signature.as_bytes());
        fields.push(0);
    }
    bytes.extend(u32::try_from(fields.len()).expect("small").to_le_bytes());
    bytes.extend(fields);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(body);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(text.len()).expect("short").to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.push(0);
    bytes
}

/// systemd with one unit, the cgroup `/kubepods.slice`, whose weight is 39.
fn systemd(member: &str, call: &[u8]) -> Vec<Vec<u8>> {
    let whole = String::from_utf8_lossy(call).into_owned();
    let number = [&[1, b't', 0, 0, 0, 0, 0, 0][..], &39_u64.to_le_bytes()].concat();
    let group = [&[1, b's', 0, 0][..], &text("/kubepods.slice")].concat();
    vec![match member {
        "Hello" => reply(2, call, "s", &text(":1.7")),
        "GetUnit" if whole.contains("kubepods.slice") => reply(2, call, "o", &text("/u")),
        "GetUnit" => reply(3, call, "s", &text("Unit not loaded.")),
        "Get" if whole.contains("\0ControlGroup\0") => reply(2, call, "v", &group),
        "Get" => reply(2, call, "v", &number),
        _ => reply(2, call, "", &[]),
    }]
}

#[test]
fn properties_of_a_unit_are_read_and_set() {
    let bus = bus("OK 0123\r\n", systemd).expect("a bus");
    let weight = bus.property("/kubepods.slice", "CPUWeight").expect("it has one");
    assert_eq!(weight, Property::Number(39));
    let properties = [("CPUWeight".to_owned(), Property::Number(5))].into();
    bus.set("/kubepods.slice", &properties).expect("it can be set");
    let other = bus.property("/else/kubepods.slice", "CPUWeight").expect_err("another cgroup");
    assert!(other.to_string().contains("is the cgroup \"/kubepods.slice\""), "{other}");
    let none = bus.property("/none.slice", "CPUWeight").expect_err("no such unit");
    assert_eq!(none.to_string(), "systemd: Unit not loaded. (org.E)");
    assert!(bus.property("/kubepods", "CPUWeight").is_err(), "no unit at all");
}

#[test]
fn other_messages_come_before_the_answer() {
    let with_signals = |member: &str, call: &[u8]| {
        let mut messages = vec![reply(4, call, "s", &text(":1.7")); 3];
        messages.extend(systemd(member, call));
        messages
    };
    let bus = bus("OK 0123\r\n", with_signals).expect("a bus");
    assert!(bus.property("/kubepods.slice", "CPUWeight").is_ok());
}

#[test]
fn a_bus_that_is_none_ends_soon() {
    let began = Instant::now();
    for (name, log_in, answer) in [
        ("it refuses", "REJECTED EXTERNAL\r\n", systemd as Answer),
        ("it says nothing", "", systemd),
        ("it says much", "OK aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", systemd),
        ("it does not answer", "OK 0123\r\n", |_, _| Vec::new()),
        ("it answers something else", "OK 0123\r\n", |_, _| vec![vec![b'x'; 64]]),
        ("it answers too much", "OK 0123\r\n", |_, call| {
            let mut message = reply(2, call, "", &[]);
            message[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
            vec![message]
        }),
        ("signals only", "OK 0123\r\n", |_, call| vec![reply(4, call, "", &[]); 1000]),
    ] {
        let error = bus(log_in, answer).expect_err(name).to_string();
        assert!(error.starts_with("the system bus: "), "{name}: {error}");
    }
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn after_a_late_answer_nothing_is_asked() {
    let bus = bus("OK 0123\r\n", |member, call| match member {
        "Hello" => systemd(member, call),
        _ => Vec::new(),
    });
    let bus = bus.expect("it says hello");
    for _ in 0..3 {
        let error = bus.property("/kubepods.slice", "CPUWeight").expect_err("no answer");
        assert_eq!(error.to_string(), "the system bus: it did not answer in time");
    }
}

#[test]
fn a_copy_of_a_node_has_no_bus() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("run/dbus")).expect("folders");
    let path = folder.path().join("run/dbus/system_bus_socket");
    let _listener = std::os::unix::net::UnixListener::bind(path).expect("a socket");
    assert!(matches!(SystemdBus::of_node(folder.path()), Err(BusError::NotOfNode)));
    let proc = folder.path().join("proc");
    std::os::unix::fs::symlink("/proc", proc).expect("a link");
    assert!(matches!(SystemdBus::of_node(folder.path()), Err(BusError::NotOfNode)));
}
