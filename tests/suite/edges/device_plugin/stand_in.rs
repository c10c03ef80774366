//! The sockets of a stand-in: a caller that goes before it is answered.

use super::sample_plugin::{Behaviour, Plugin, device, registration};
use kq::edge::device_plugin::v1beta1::RegisterRequest;
use kq::edge::device_plugin::{Incoming, Patience, StandIn};
use std::future::pending;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

const TIME: Duration = Duration::from_secs(20);

fn next(stand_in: &mut StandIn) -> Option<Incoming> {
    match stand_in.next_or(TIME, pin!(pending::<()>())) {
        ControlFlow::Break(()) => panic!("this call never ends"),
        ControlFlow::Continue(incoming) => incoming,
    }
}

#[test]
fn a_plugin_that_goes_before_it_is_answered_is_watched() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let patience = Patience { dial: TIME, call: TIME };
    let mut stand_in =
        StandIn::start(folder.path(), patience, || {}).expect("nobody else is there");
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
    // Nobody takes what comes in, so it is not answered; it is connected to all the same.
    runtime.block_on(async {
        let mut client = registration(folder.path().to_owned()).await;
        let register = client.register(request);
        timeout(Duration::from_secs(1), register).await.expect_err("it is not answered");
    });
    drop(runtime);
    std::thread::sleep(Duration::from_millis(200));
    let Some(Incoming::Connected { id, taken, .. }) = next(&mut stand_in) else {
        panic!("it has registered");
    };
    let _ = taken.send(());
    let listed = next(&mut stand_in);
    assert!(matches!(&listed, Some(Incoming::Listed { id: of, .. }) if *of == id), "{listed:?}");
}
