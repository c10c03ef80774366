//! TCP probes of hosts that do not answer, and of names.

use crate::closed_port::ClosedPort;
use kq_linux::probe::dial::probe_tcp;
use kq_probe::{Attempt, Cause, Phase, ProbeResult, ProbeTimeout, TcpTarget};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What an attempt may take beyond its time on a machine that is busy.
const GRACE: Duration = Duration::from_secs(3);

fn probe(address: &str, timeout: ProbeTimeout) -> Attempt {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let target = TcpTarget { address: address.to_owned() };
    let attempt = runtime.block_on(probe_tcp(&target, timeout));
    runtime.shutdown_background();
    attempt
}

fn text(attempt: &Attempt) -> String {
    attempt.output.text().into_owned()
}

#[test]
fn a_time_that_is_over_already_says_where_it_would_have_gone() {
    for (address, expected) in [
        ("127.0.0.1:80", "dial tcp 127.0.0.1:80: i/o timeout"),
        ("[::1]:80", "dial tcp [::1]:80: i/o timeout"),
        (":80", "dial tcp :80: i/o timeout"),
        ("localhost:80", "dial tcp: lookup localhost: i/o timeout"),
        ("no name:80", "dial tcp: lookup no name: i/o timeout"),
        ("[[::1]]:80", "dial tcp: address [[::1]]:80: missing port in address"),
    ] {
        let attempt = probe(address, ProbeTimeout::Past);
        assert_eq!((text(&attempt), attempt.result), (expected.to_owned(), ProbeResult::Failure));
    }
}

#[test]
fn a_host_that_does_not_answer_is_given_up_in_time() {
    // 192.0.2.0/24 is reserved for documentation; without a route to it, the kernel reports an error.
    let begin = Instant::now();
    let attempt = probe("192.0.2.1:80", ProbeTimeout::After(Duration::from_secs(1)));
    assert!(begin.elapsed() < Duration::from_secs(1) + GRACE, "{:?}", begin.elapsed());
    assert_eq!(attempt.result, ProbeResult::Failure, "{attempt:?}");
    if attempt.cause == Some(Cause::Timeout) {
        assert_eq!(text(&attempt), "dial tcp 192.0.2.1:80: i/o timeout");
        let last = attempt.phases.last().expect("it was connecting");
        assert_eq!((last.phase, last.unfinished), (Phase::Connect, true));
    }
}

#[test]
fn names_are_looked_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has a port").port();
    let second = ProbeTimeout::After(Duration::from_secs(5));
    // It may be ::1 first, without a listener.
    let attempt = probe(&format!("localhost:{port}"), second);
    assert_eq!(attempt, Attempt { phases: attempt.phases.clone(), ..Attempt::success("") });
    let phases: Vec<Phase> = attempt.phases.iter().map(|part| part.phase).collect();
    assert_eq!(phases, [Phase::Lookup, Phase::Connect]);
    let closed = ClosedPort::new("127.0.0.1");
    let port = closed.address.port();
    let attempt = probe(&format!("localhost:{port}"), second);
    let said = text(&attempt);
    assert!(said.ends_with(&format!(":{port}: connect: connection refused")), "{said}");
}

#[test]
fn many_at_once_are_closed_without_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has a port").to_string();
    let begin = Instant::now();
    for _ in 0..100 {
        let attempt = probe(&address, ProbeTimeout::After(Duration::from_secs(1)));
        assert_eq!(attempt.result, ProbeResult::Success, "{attempt:?}");
        drop(listener.accept());
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}
