//! A session removes images through a runtime, and outlives one that dies.

use super::fake::{Answers, Server};
use kq_facts::runtime::ContainerState;
use kq_linux::cri::{CriError, CriSession, RuntimeNeeds, v1};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tonic::Status;

const LONG: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn session(server: &Server, deadline: Duration) -> CriSession {
    CriSession::connect(&server.endpoint(), Path::new("/"), deadline).expect("the runtime answers")
}

fn some() -> Answers {
    let image = v1::Image { id: "sha256:a".to_owned(), size: u64::MAX, ..v1::Image::default() };
    let status = |id: &str, state| v1::ContainerStatusResponse {
        status: Some(v1::ContainerStatus {
            id: id.to_owned(),
            state,
            ..v1::ContainerStatus::default()
        }),
        ..v1::ContainerStatusResponse::default()
    };
    let statuses = [
        ("runs", status("runs", v1::ContainerState::ContainerRunning as i32)),
        ("odd", status("odd", 99)),
        ("empty", v1::ContainerStatusResponse::default()),
        ("another", status("runs", v1::ContainerState::ContainerExited as i32)),
    ];
    Answers {
        images: Some(v1::ListImagesResponse { images: vec![image] }),
        statuses: statuses.map(|(id, status)| (id.to_owned(), status)).into(),
        ..Answers::default()
    }
}

#[test]
fn what_is_there_is_looked_at_by_its_id() {
    let folder = folder();
    let server = Server::answering(&folder.path().join("s"), some());
    let session = session(&server, LONG);
    let size = |id: &str| session.image(id).expect("it answers").map(|image| image.size);
    assert_eq!((size("sha256:a"), size("sha256:b"), size("")), (Some(u64::MAX), None, None));
    for (id, expected) in [
        ("runs", Ok(Some(ContainerState::Running))),
        ("odd", Ok(Some(ContainerState::Unknown))),
        ("gone", Ok(None)),
        ("empty", Err("answered without a status".to_owned())),
        ("another", Err("answered the status of another container, \"runs\"".to_owned())),
    ] {
        assert_eq!(session.container_state(id), expected, "{id}");
    }
    let wants = RuntimeNeeds { images: true, ..RuntimeNeeds::default() };
    let facts = session.read(wants).expect("it answers");
    assert_eq!(facts.images.value().map(|all| all.len()), Some(1));
}

#[test]
fn each_removal_is_one_call() {
    let folder = folder();
    let refused = |call: &str, status: Status| (call.to_owned(), status);
    let refusals = BTreeMap::from([
        refused("RemoveImage used", Status::failed_precondition("image is in use")),
        refused("RemoveImage gone", Status::not_found("no such image")),
        refused("RemoveContainer runs", Status::unknown("container is still running")),
        refused("RemovePodSandbox ready", Status::internal("")),
        refused("StopPodSandbox gone", Status::not_found("no such sandbox")),
    ]);
    let answers = Answers { refusals, ..some() };
    let calls = answers.calls.clone();
    let server = Server::answering(&folder.path().join("s"), answers);
    let session = session(&server, LONG);
    let refusal = |text: &str| Err(text.to_owned());
    for (name, done, expected) in [
        ("an image", session.remove_image("sha256:a"), Ok(())),
        ("no image", session.remove_image("gone"), Ok(())),
        (
            "an image in use",
            session.remove_image("used"),
            refusal("answered FailedPrecondition: image is in use"),
        ),
        ("stop", session.stop_container("runs", 7), Ok(())),
        (
            "a container",
            session.remove_container("runs"),
            refusal("answered: container is still running"),
        ),
        ("stop a sandbox", session.stop_sandbox("gone"), Ok(())),
        ("a sandbox", session.remove_sandbox("ready"), refusal("answered Internal")),
    ] {
        assert_eq!(done, expected, "{name}");
    }
    let calls = calls.lock().expect("no server panicked").clone();
    let expected = [
        "RemoveImage sha256:a",
        "RemoveImage gone",
        "RemoveImage used",
        "StopContainer runs 7",
        "RemoveContainer runs",
        "StopPodSandbox gone",
        "RemovePodSandbox ready",
    ];
    assert_eq!(calls, expected);
}

#[test]
fn a_call_that_hangs_ends_at_its_own_deadline() {
    let folder = folder();
    let refusals = [
        ("RemoveImage a".to_owned(), Status::cancelled("hangs")),
        ("StopContainer c 1".to_owned(), Status::cancelled("hangs")),
    ];
    let answers = Answers { refusals: refusals.into(), ..some() };
    let server = Server::answering(&folder.path().join("s"), answers);
    let session = session(&server, Duration::from_secs(2));
    let begin = Instant::now();
    assert_eq!(session.remove_image("a"), Err("no answer within 2s".to_owned()));
    assert_eq!(session.remove_image("b"), Ok(()), "the next one has its own time");
    assert_eq!(session.stop_container("c", 1), Err("no answer within 3s".to_owned()));
    assert!(begin.elapsed() < Duration::from_secs(5) + GRACE);
}

#[test]
fn a_runtime_that_was_restarted_answers_the_next_call() {
    let folder = folder();
    let path = folder.path().join("s");
    let server = Server::answering(&path, some());
    let session = session(&server, LONG);
    assert_eq!(session.remove_image("a"), Ok(()));
    drop(server);
    // A program that another test starts at this moment has a copy of the socket until it is loaded.
    let end = Instant::now() + GRACE;
    while UnixStream::connect(&path).is_ok() {
        assert!(Instant::now() < end, "the socket is still open");
        thread::yield_now();
    }
    let error = session.remove_image("b").expect_err("nobody is there");
    assert!(error.ends_with("connection refused"), "{error}");
    std::fs::remove_file(&path).expect("it is there");
    let _server = Server::answering(&path, some());
    assert_eq!(session.remove_image("c"), Ok(()));
}

#[test]
fn a_runtime_that_dies_in_a_call_is_one_that_failed() {
    let folder = folder();
    let behind = folder.path().join("behind");
    let _server = Server::answering(&behind, some());
    let dies = Arc::new(AtomicBool::new(false));
    let proxy = Server::handling(&folder.path().join("s"), {
        let dies = dies.clone();
        move |client| {
            let server = UnixStream::connect(&behind).expect("the server is there");
            // Some bytes are the settings of the connection; the answer is cut off.
            let bytes = if dies.load(Ordering::SeqCst) { 40 } else { u64::MAX };
            let (from, mut to) =
                (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            thread::spawn(move || io::copy(&mut &from, &mut to));
            let _ = io::copy(&mut (&server).take(bytes), &mut &client);
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    let session = session(&proxy, LONG);
    dies.store(true, Ordering::SeqCst);
    let begin = Instant::now();
    let error = session.remove_image("a").expect_err("the answer is cut off");
    assert!(begin.elapsed() < LONG, "the end of the connection is the end of the call");
    assert!(!error.is_empty() && error != "transport error", "the cause is named: {error}");
    dies.store(false, Ordering::SeqCst);
    assert_eq!(session.remove_image("a"), Ok(()));
}

#[test]
fn a_session_begins_with_a_runtime_that_answers() {
    let connect = |endpoint: &str| CriSession::connect(endpoint, Path::new("/"), LONG);
    let error = connect("tcp://127.0.0.1:1").expect_err("no unix socket");
    assert!(matches!(error, CriError::Endpoint { .. }), "{error:?}");
    let folder = folder();
    let error = connect(&format!("unix://{}/none", folder.path().display())).expect_err("nobody");
    assert!(matches!(error, CriError::Connect { .. }), "{error:?}");
}
