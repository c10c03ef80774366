//! The sockets of a stand-in: callers that go before they are answered, and those that wait.

use super::sample_plugin::{Behaviour, Plugin, device, registration};
use kq_linux::device_plugin::socket_registry::Held;
use kq_linux::device_plugin::v1beta1::RegisterRequest;
use kq_linux::device_plugin::{Incoming, RegistrationServer, Timeouts, send_request};
use std::future::pending;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

const TIME: Duration = Duration::from_secs(20);

fn held(folder: &tempfile::TempDir) -> Held {
    Held::open(folder.path()).expect("it is there")
}

fn next(stand_in: &mut RegistrationServer) -> Option<Incoming> {
    match stand_in.next_or(TIME, pin!(pending::<()>())) {
        ControlFlow::Break(()) => panic!("this call never ends"),
        ControlFlow::Continue(incoming) => incoming,
    }
}

#[test]
fn a_plugin_that_goes_before_it_is_answered_is_watched() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let patience = Timeouts { dial: TIME, call: TIME };
    let mut stand_in =
        RegistrationServer::start(&held(&folder), patience, || {}).expect("nobody else is there");
    let _plugin = Plugin::start(
        folder.path(),
        "gpu.sock",
        vec![device("a", "Healthy", None)],
        Behaviour::default(),
    );
    let request = RegisterRequest {
        version: "v1beta1".to_owned(),
        endpoint: "gpu.sock".to_owned(),
        resource_name: "example.com/gpu".to_owned(),
        options: None,
    };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    // Nobody takes what comes in, so it is not answered; it is connected to all the same. Who goes before that
    // is not: on a busy machine it takes longer.
    let connected = (1..=10).find_map(|seconds| {
        runtime.block_on(async {
            let mut client = registration(folder.path().to_owned()).await;
            let register = client.register(request.clone());
            timeout(Duration::from_secs(seconds), register).await.expect_err("it is not answered");
        });
        match stand_in.next_or(Duration::from_secs(1), pin!(pending::<()>())) {
            ControlFlow::Continue(incoming) => incoming,
            ControlFlow::Break(()) => panic!("this call never ends"),
        }
    });
    drop(runtime);
    let Some(Incoming::Connected { id, taken, .. }) = connected else {
        panic!("it has registered: {connected:?}");
    };
    let _ = taken.send(());
    let listed = next(&mut stand_in);
    assert!(matches!(&listed, Some(Incoming::Listed { id: of, .. }) if *of == id), "{listed:?}");
}

/// What a caller says, and waits for.
fn call(folder: &Path) -> UnixStream {
    let mut caller = UnixStream::connect(folder.join("kq.sock")).expect("it listens");
    caller.write_all(b"{}").expect("it takes it");
    caller
}

#[test]
fn nothing_is_done_for_a_caller_that_has_gone() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let patience = Timeouts { dial: TIME, call: TIME };
    let mut stand_in =
        RegistrationServer::start(&held(&folder), patience, || {}).expect("nobody else is there");
    // One that goes before it was listened to, and one that waits.
    drop(call(folder.path()));
    let waits = call(folder.path());
    waits.shutdown(Shutdown::Write).expect("it is connected");
    let Some(Incoming::Control { caller, .. }) = next(&mut stand_in) else {
        panic!("somebody waits");
    };
    assert!(!caller.has_gone());
    let quiet = Duration::from_millis(300);
    let ControlFlow::Continue(other) = stand_in.next_or(quiet, pin!(pending::<()>())) else {
        panic!("this call never ends");
    };
    assert!(other.is_none(), "{other:?}");
    // Not by dropping it: a process that another test starts just now holds its descriptor until it is executed.
    waits.shutdown(Shutdown::Both).expect("it is connected");
    assert!(caller.has_gone());
}

#[test]
fn nobody_speaks_before_it_is_listened_to() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let listener = UnixListener::bind(folder.path().join("kq.sock")).expect("a socket can be made");
    let short = Duration::from_millis(300);
    send_request(folder.path(), b"{}", Some(short)).expect_err("it does not answer");
    let (mut stream, _) = listener.accept().expect("somebody connected");
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("it has gone");
    assert_eq!(said, b"", "it would be done after its caller has given up");
}

#[test]
fn those_who_wait_keep_nobody_from_asking() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let patience = Timeouts { dial: TIME, call: TIME };
    let mut stand_in =
        RegistrationServer::start(&held(&folder), patience, || {}).expect("nobody else is there");
    let mut kept = Vec::new();
    for number in 0..20 {
        let caller = call(folder.path());
        caller.shutdown(Shutdown::Write).expect("it is connected");
        let incoming = next(&mut stand_in);
        assert!(matches!(incoming, Some(Incoming::Control { .. })), "{number}: {incoming:?}");
        kept.push((caller, incoming));
    }
}
