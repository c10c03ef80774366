//! Whatever goes wrong between kq and a runtime ends in time and has a reason.

use super::fake::{Answers, Server};
use kq_facts::runtime::RuntimeFacts;
use kq_io::trust::NamedBy;
use kq_linux::cri::{CriError, RuntimeNeeds, read_runtime, v1};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The time for what never answers, and for what answers; and what a busy machine may add.
const DEADLINE: Duration = Duration::from_millis(700);
const LONG: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);

/// Reads everything, and makes sure that it ended in time.
fn read(endpoint: &str) -> Result<RuntimeFacts, CriError> {
    read_within(endpoint, DEADLINE)
}

fn read_within(endpoint: &str, deadline: Duration) -> Result<RuntimeFacts, CriError> {
    let begin = Instant::now();
    let read =
        read_runtime(endpoint, Path::new("/"), NamedBy::Operator, RuntimeNeeds::ALL, deadline);
    let taken = begin.elapsed();
    assert!(taken < deadline + GRACE, "{endpoint}: took {taken:?}");
    read
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

#[test]
fn nobody_is_there() {
    let folder = folder();
    let socket = |name: &str| folder.path().join(name);
    drop(UnixListener::bind(socket("left")).expect("a socket can be made"));
    std::fs::write(socket("file"), "").expect("a file can be written");
    std::os::unix::fs::symlink(socket("circle"), socket("circle")).expect("a link can be made");
    let rows = [
        ("absent", "no such file or directory"),
        ("left", "connection refused"),
        ("file", "connection refused"),
        ("file/deeper", "not a directory"),
        ("circle", "too many links"),
        (".", "connection refused"),
    ];
    for (name, expected) in rows {
        let endpoint = format!("unix://{}", socket(name).display());
        let error = read(&endpoint).expect_err(name);
        let CriError::Connect { endpoint: named, reason } = &error else {
            panic!("{name}: {error:?}")
        };
        assert_eq!(*named, endpoint, "{name}");
        assert!(reason.ends_with(expected), "{name}: {reason}");
    }
}

#[test]
fn an_endpoint_is_a_unix_socket() {
    for endpoint in ["tcp://127.0.0.1:1", "run/a.sock", "", "unix://", "unix://a"] {
        let error = read(endpoint).expect_err(endpoint);
        assert_eq!(error, CriError::Endpoint { endpoint: endpoint.to_owned() });
    }
    let error = read("/a\0b").expect_err("no path has a zero byte");
    assert!(matches!(error, CriError::Connect { .. }), "{error:?}");
    let long = format!("/{}", "x".repeat(200));
    let error = read(&long).expect_err("nothing is there");
    assert!(matches!(error, CriError::Connect { .. }), "{error:?}");
}

/// Listeners other than runtimes: their behaviour, and kq's message.
#[test]
fn somebody_else_is_there() {
    type Handle = fn(UnixStream);
    let rows: [(&str, Handle, &[&str]); 6] = [
        ("closes", drop, &["broken pipe", "connection reset", "closed"]),
        ("is silent", |stream| until_closed(&stream), &["no answer within 700ms"]),
        (
            "reads and closes",
            |mut stream| {
                let _ = stream.read(&mut [0; 24]);
            },
            &["broken pipe", "connection reset", "closed"],
        ),
        (
            "writes garbage",
            |mut stream| {
                let _ = stream.write_all(&[0xff; 4096]);
                until_closed(&stream);
            },
            &["frame", "closed"],
        ),
        (
            "speaks HTTP/1.1",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                until_closed(&stream);
            },
            &["frame", "closed"],
        ),
        (
            "writes for ever",
            |mut stream| while stream.write_all(&[0; 4096]).is_ok() {},
            &["frame", "protocol", "closed"],
        ),
    ];
    for (name, handle, expected) in rows {
        let folder = folder();
        let server = Server::handling(&folder.path().join("s"), handle);
        let error = read(&server.endpoint()).expect_err(name);
        let (CriError::Version { reason, .. } | CriError::Connect { reason, .. }) = &error else {
            panic!("{name}: {error:?}");
        };
        let reason = reason.to_lowercase();
        assert!(expected.iter().any(|words| reason.contains(words)), "{name}: {reason}");
    }
}

/// Reads until the other side has gone.
fn until_closed(mut stream: &UnixStream) {
    let _ = io::copy(&mut stream, &mut io::sink());
}

#[test]
fn a_queue_that_is_full_ends_in_time() {
    let folder = folder();
    let path = folder.path().join("s");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime can be made");
    // Connections are not accepted; the kernel keeps some and then rejects more.
    let (_listener, kept) = runtime.block_on(async {
        let socket = tokio::net::UnixSocket::new_stream().expect("a socket can be made");
        socket.bind(&path).expect("a socket can be bound");
        let listener = socket.listen(1).expect("a socket can listen");
        let mut kept = Vec::new();
        while let Ok(stream) = tokio::net::UnixStream::connect(&path).await {
            kept.push(stream);
        }
        (listener, kept)
    });
    assert!(!kept.is_empty(), "one connection waits to be accepted");
    let error = read(&format!("unix://{}", path.display())).expect_err("nobody answers");
    assert!(error.to_string().ends_with("no answer within 700ms"), "{error}");
}

#[test]
fn an_answer_that_is_cut_off_is_one_fact_that_failed() {
    let folder = folder();
    let image = v1::Image { id: "x".repeat(1 << 20), ..v1::Image::default() };
    let answers = Answers {
        images: Some(v1::ListImagesResponse { images: vec![image; 4] }),
        containers: Some(v1::ListContainersResponse::default()),
        ..Answers::default()
    };
    let behind = folder.path().join("behind");
    let _server = Server::answering(&behind, answers);
    // Passes on what both sides say, but breaks off within the list of images.
    let proxy = Server::handling(&folder.path().join("s"), move |client| {
        let server = UnixStream::connect(&behind).expect("the server is there");
        let (from, mut to) =
            (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
        thread::spawn(move || io::copy(&mut &from, &mut to));
        let _ = io::copy(&mut (&server).take(1 << 20), &mut &client);
        let _ = client.shutdown(Shutdown::Both);
    });
    let facts = read_within(&proxy.endpoint(), LONG).expect("the version was answered");
    assert_eq!(facts.images.found, None);
    let reason = facts.images.reason();
    assert!(reason.starts_with(&format!("{} ListImages: ", proxy.endpoint())), "{reason}");
    assert!(!reason.contains("no answer within"), "{reason}");
    assert!(!reason.contains("transport error"), "the cause is named: {reason}");
}

#[test]
fn what_is_not_implemented_is_one_fact_that_failed() {
    let folder = folder();
    let server = Server::answering(&folder.path().join("s"), Answers::default());
    let endpoint = server.endpoint();
    let facts = read_within(&endpoint, LONG).expect("the version was answered");
    let reasons = [
        ("Status(verbose)", facts.low_level.reason()),
        ("ListPodSandbox", facts.sandboxes.reason()),
        ("ListContainers", facts.containers.reason()),
        ("ListImages", facts.images.reason()),
        ("ImageFsInfo", facts.image_filesystems.reason()),
    ];
    for (method, reason) in reasons {
        assert_eq!(
            reason,
            format!("{endpoint} {method}: answered Unimplemented: not by this one"),
            "{method}"
        );
    }
}

#[test]
fn a_call_that_hangs_keeps_no_other_from_answering() {
    let folder = folder();
    let answers = Answers {
        is_stuck: true,
        images: Some(v1::ListImagesResponse::default()),
        sandboxes: Some(v1::ListPodSandboxResponse::default()),
        ..Answers::default()
    };
    let server = Server::answering(&folder.path().join("s"), answers);
    let facts = read_within(&server.endpoint(), 3 * DEADLINE).expect("the version was answered");
    assert_eq!(
        facts.containers.reason(),
        format!("{} ListContainers: no answer within 2.1s", server.endpoint())
    );
    assert_eq!(facts.images.value().map(|all| all.len()), Some(0));
    assert_eq!(facts.sandboxes.value().map(|all| all.len()), Some(0));
}

#[test]
fn a_deadline_of_any_length_is_one() {
    let folder = folder();
    let read = |server: &Server, deadline| {
        read_runtime(
            &server.endpoint(),
            Path::new("/"),
            NamedBy::Operator,
            RuntimeNeeds::default(),
            deadline,
        )
    };
    let answering = Server::answering(&folder.path().join("answering"), Answers::default());
    assert!(read(&answering, Duration::MAX).is_ok());
    let silent = Server::handling(&folder.path().join("silent"), |stream| until_closed(&stream));
    let error = read(&silent, Duration::ZERO).expect_err("nobody answers");
    assert!(error.to_string().ends_with("no answer within 0ns"), "{error}");
}

#[test]
fn the_socket_is_looked_for_beneath_the_root_of_the_node() {
    let root = folder();
    std::fs::create_dir_all(root.path().join("run/crio")).expect("a folder can be made");
    std::fs::create_dir_all(root.path().join("var")).expect("a folder can be made");
    std::os::unix::fs::symlink("/run", root.path().join("var/run")).expect("a link can be made");
    let _server = Server::answering(&root.path().join("run/crio/crio.sock"), Answers::default());
    for endpoint in ["unix:///var/run/crio/crio.sock", "/run/crio/crio.sock"] {
        let facts =
            read_runtime(endpoint, root.path(), NamedBy::Operator, RuntimeNeeds::default(), LONG)
                .unwrap_or_else(|error| panic!("{endpoint}: {error}"));
        assert_eq!(facts.endpoint, endpoint);
    }
}
