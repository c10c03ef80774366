//! Commands of probes over a fake runtime: requests, oversized output, commands that never end.

use super::fake::{Answers, Server};
use kq_linux::cri::{CriSession, ExecRuntime, v1};
use kq_linux::probe::run::probe_exec;
use kq_probe::{Attempt, Cause, ExecRequest, Phase, ProbeResult};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::Status;

const GRACE: Duration = Duration::from_secs(5);

fn answers() -> Answers {
    let answer = |bytes: usize| v1::ExecSyncResponse {
        stdout: vec![b'o'; bytes],
        exit_code: 1,
        ..v1::ExecSyncResponse::default()
    };
    let refusal = |call: &str, status: Status| (format!("ExecSync {call} [\"x\"] 1"), status);
    Answers {
        execs: BTreeMap::from([
            ("small".to_owned(), answer(3)),
            // With the five bytes of the tag and length, and two for the exit code: at the limit.
            ("largest".to_owned(), answer((16 << 20) - 7)),
            ("larger".to_owned(), answer((16 << 20) - 6)),
        ]),
        refusals: BTreeMap::from([
            refusal("stuck", Status::cancelled("never")),
            refusal("late", Status::deadline_exceeded("late")),
            refusal("bad", Status::unknown("failed to exec in container")),
        ]),
        ..Answers::default()
    }
}

fn run(endpoint: &str, container: &str, runtime_timeout: Duration) -> Attempt {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    tokio.enable_all().build().expect("a runtime").block_on(async {
        let runtime = ExecRuntime::connect(endpoint, Path::new("/")).await.expect("it is there");
        let request = ExecRequest {
            container_id: container.to_owned(),
            command: vec!["x".to_owned()],
            timeout_seconds: 1,
        };
        probe_exec(&runtime, &request, runtime_timeout, true).await
    })
}

#[test]
fn commands_end_as_the_runtime_says() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let answers = answers();
    let calls = Arc::clone(&answers.calls);
    let server = Server::answering(&folder.path().join("s"), answers);
    let long = Duration::from_secs(60);
    for (container, result, text, error) in [
        ("small", ProbeResult::Failure, "ooo", None),
        ("late", ProbeResult::Failure, "command timed out: \"x\" timed out after 1s", None),
        (
            "bad",
            ProbeResult::Unknown,
            "",
            Some("rpc error: code = Unknown desc = failed to exec in container"),
        ),
        (
            "none",
            ProbeResult::Unknown,
            "",
            Some("rpc error: code = NotFound desc = no container \"none\""),
        ),
        (
            "larger",
            ProbeResult::Unknown,
            "",
            Some(
                "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (16777217 vs. 16777216)",
            ),
        ),
    ] {
        let attempt = run(&server.endpoint(), container, long);
        assert_eq!(attempt.result, result, "{container}: {:?}", attempt.error);
        assert_eq!(attempt.output.text(), text, "{container}");
        assert_eq!(attempt.error.as_deref(), error, "{container}");
        assert_eq!(attempt.phases.first().map(|part| part.phase), Some(Phase::Run));
    }
    let largest = run(&server.endpoint(), "largest", long);
    assert_eq!((largest.result, largest.output.0.len()), (ProbeResult::Failure, 10_240));
    let calls = calls.lock().expect("no panic").clone();
    assert_eq!(calls.first().map(String::as_str), Some("ExecSync small [\"x\"] 1"));
}

#[test]
fn a_runtime_that_never_answers_is_given_up() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let server = Server::answering(&folder.path().join("s"), answers());
    let begin = Instant::now();
    let attempt = run(&server.endpoint(), "stuck", Duration::from_millis(200));
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(1200) && took < GRACE, "{took:?}");
    assert_eq!(attempt.cause, Some(Cause::Timeout), "{attempt:?}");
    assert_eq!(attempt.output.text(), "command timed out: \"x\" timed out after 1s");
}

#[test]
fn a_runtime_that_does_not_know_sandboxes_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let server = Server::answering(&folder.path().join("s"), answers());
    let session =
        CriSession::connect(&server.endpoint(), Path::new("/"), GRACE).expect("it answers");
    assert!(session.sandbox_status("a").is_err());
    assert_eq!(session.container_details("a"), Ok(None));
}
