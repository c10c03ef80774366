//! Those who come to a stand-in's sockets, and the sockets of plugins: many, silent, odd.

use super::devices_serve::{RESOURCE, Served, able, allocate, four, json, pod};
use super::kq;
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin, register};
use kq_io::listener::connect_within;
use kq_linux::device_plugin::v1beta1::RegisterRequest;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// What gRPC's C core 58 (grpcio 1.85.1) says to register `gpu.sock` for `example.com/gpu`: preface, settings
/// and a window, and the acknowledgement of the server's settings.
const C_CORE_BEGINS: &str = "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a\
    000024040000000000000200000000000300000000000400400000000500400000000600004000fe0300000001\
    000004080000000000003f0001000000040100000000";

/// Its headers before and after the authority.
const C_CORE_PATH: &str =
    "40053a706174681e2f763162657461312e526567697374726174696f6e2f5265676973746572";
const C_CORE_REST: &str = "8386400c636f6e74656e742d74797065106170706c69636174696f6e2f67727063\
    4002746508747261696c6572734014677270632d6163636570742d656e636f64696e67\
    176964656e746974792c206465666c6174652c20677a6970400c677270632d74696d656f7574023353\
    400a757365722d6167656e7430677270632d707974686f6e2f312e38352e3120677270632d632f35382e302e3020286c\
    696e75783b2063687474703229";

/// A window, and the message with which its request ends.
const C_CORE_MESSAGE: &str = "000004080000000001000000050000290001000000010000000024\
    0a077631626574613112086770752e736f636b1a0f6578616d706c652e636f6d2f677075";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Registers as a client of gRPC's C core does; returns all that is answered.
fn register_as_c_core(folder: &Path, authority: &str) -> Vec<u8> {
    let mut block = hex(C_CORE_PATH);
    block.extend([0x40, 10]);
    block.extend(b":authority");
    block.push(u8::try_from(authority.len()).expect("it is short"));
    block.extend(authority.as_bytes());
    block.extend(hex(C_CORE_REST));
    let mut said = hex(C_CORE_BEGINS);
    said.extend(&(block.len() as u32).to_be_bytes()[1..]);
    said.extend([1, 4, 0, 0, 0, 1]);
    said.extend(block);
    said.extend(hex(C_CORE_MESSAGE));
    let mut stream = UnixStream::connect(folder.join("kubelet.sock")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream.write_all(&said).expect("it reads");
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    // The stream ends with headers, or is reset.
    while !ends(&answer) {
        let count = stream.read(&mut buffer).expect("it answers in time");
        assert!(count > 0, "it hung up: {answer:?}");
        answer.extend(&buffer[..count]);
    }
    answer
}

/// Returns true if frames hold one that ends the first stream.
fn ends(mut frames: &[u8]) -> bool {
    while let Some((head, rest)) = frames.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if (head[3] == 1 && head[4] & 1 == 1) || head[3] == 3 {
            return rest.len() >= length;
        }
        let Some(after) = rest.get(length..) else { return false };
        frames = after;
    }
    false
}

#[test]
fn clients_of_the_c_core_register() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);
    let _plugin = Plugin::start(folder, "gpu.sock", four(), able());
    for authority in [
        "tmp%2Fplugins%2Fkubelet.sock",
        "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fkubelet.sock",
        "/var/lib/kubelet/device-plugins/kubelet.sock",
        "localhost",
    ] {
        let answer = register_as_c_core(folder, authority);
        // RST_STREAM is what h2 answers to an authority that is none.
        let is_reset = |frame: &[u8]| frame.starts_with(&[0, 0, 4, 3]);
        assert!(!answer.windows(9).any(is_reset), "{authority}: {answer:x?}");
        served.until("REGISTERED example.com/gpu gpu.sock");
    }
    served.interrupt();
}

#[test]
fn endpoints_have_paths_as_for_the_kubelet() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let own = folder.path().join("own");
    std::fs::create_dir(&own).expect("a folder can be made");
    let mut served = Served::start(&own, &[]);
    std::fs::create_dir(own.join("sub")).expect("a folder can be made");
    let _below = Plugin::start(&own.join("sub"), "gpu.sock", four(), able());
    let _beside = Plugin::start(folder.path(), "gpu.sock", four(), able());
    for endpoint in ["sub/gpu.sock", "/sub/gpu.sock", "../gpu.sock", "sub/.././sub//gpu.sock"] {
        let request = RegisterRequest {
            version: "v1beta1".to_owned(),
            endpoint: endpoint.to_owned(),
            resource_name: RESOURCE.to_owned(),
            options: None,
        };
        register(&own, request).unwrap_or_else(|error| panic!("{endpoint}: {error}"));
        served.until(&format!("REGISTERED example.com/gpu {endpoint} "));
    }
    let ran = allocate(&own, &pod("web", &[("app", 1)]), "-o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    served.interrupt();
    assert!(own.join("sub/gpu.sock").exists() && folder.path().join("gpu.sock").exists());
}

#[test]
fn a_plugin_that_answers_too_much_is_taken_as_by_the_kubelet() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);
    let behaviour = Behaviour {
        prefers: ["zz", "b", "no such"].map(str::to_owned).to_vec(),
        answers_twice: true,
        ..able()
    };
    let plugin = Plugin::start(folder, "gpu.sock", four(), behaviour);
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    // The plugin cuts its preference at three ids, of which one is a device: the others are not inspected, and
    // the rest is made up of what is left.
    let ran = allocate(folder, &pod("web", &[("app", 3)]), "-o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report = json(&ran);
    let devices = report["containers"][0]["resources"][0]["devices"].as_array().cloned();
    let ids: Vec<_> = devices.iter().flatten().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(ids.len(), 3, "{}", ran.stdout);
    assert!(ids.contains(&"b"), "{}", ran.stdout);
    // Of two answers the first one counts.
    let got = report["containers"][0]["gets"]["envs"]["SAMPLE_DEVICES"].as_str();
    assert_eq!(got, Some(ids.join(",").as_str()), "{}", ran.stdout);
    served.interrupt();
}

#[test]
fn those_who_say_nothing_keep_nobody_out() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);
    let served_by = Pid::from_child(&served.child);
    let mut idle = Vec::new();
    // They come faster than they are taken in: nobody waits here, and all find room.
    kill_process(served_by, Signal::STOP).expect("it runs");
    let mut crowd = |socket: &str, count: usize, begin: &[u8]| {
        for _ in 0..count {
            let stream = connect_within(&folder.join(socket), Duration::ZERO);
            let mut stream = stream.expect("there is room in the queue");
            let _ = stream.write_all(begin);
            idle.push(stream);
        }
    };
    crowd("kq.sock", 270, b"");
    // Some begin to speak HTTP/2, and ask for nothing.
    crowd("kubelet.sock", 100, b"");
    let begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    crowd("kubelet.sock", 100, begin);
    kill_process(served_by, Signal::CONT).expect("it runs");
    let plugin = Plugin::start(folder, "gpu.sock", four(), Behaviour::default());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    let ran = allocate(folder, &pod("web", &[("app", 1)]), "");
    assert_eq!(ran.code, 0, "{}", ran.text());
    drop(idle);
    served.interrupt();
}

#[test]
fn plugins_that_hang_are_waited_for_together() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bind = |name: String| UnixListener::bind(folder.path().join(name)).expect("a socket");
    let _hang: Vec<UnixListener> = (0..100).map(|number| bind(format!("h{number}.sock"))).collect();
    let _answers = Plugin::start(folder.path(), "well.sock", four(), able());
    let began = Instant::now();
    let line = format!("devices plugins --dir {} --call-timeout 2s", folder.path().display());
    let ran = kq(&format!("{line} -o json")).run();
    let took = began.elapsed();
    assert_eq!(ran.code, 0, "{}", ran.text());
    // One after the other they take two hundred seconds.
    assert!(took < Duration::from_secs(60), "{took:?}");
    let report = json(&ran);
    let sockets = report["sockets"].as_array().expect("a list");
    assert_eq!(sockets.len(), 101);
    for socket in sockets {
        let hangs = socket["name"] != "well.sock";
        assert_eq!(socket["answers"], !hangs, "{socket}");
        let why = socket["options"]["unknown"].as_str();
        assert_eq!(why.is_some_and(|why| why == "no answer within 2s"), hangs, "{socket}");
    }
}
