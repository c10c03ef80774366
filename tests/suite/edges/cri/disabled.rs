//! Without the feature `cri` there is an error that says so.

use kq_io::trust::NamedBy;
use kq_linux::cri::{CriSession, RuntimeNeeds, read_runtime};
use std::path::Path;
use std::time::Duration;

#[test]
fn says_that_it_was_built_without() {
    let (root, time) = (Path::new("/"), Duration::from_secs(1));
    let read = read_runtime("/a.sock", root, NamedBy::Operator, RuntimeNeeds::ALL, time).map(drop);
    let session = CriSession::connect("/a.sock", root, time).map(drop);
    for answer in [read, session] {
        let error = answer.expect_err("nothing can be asked").to_string();
        assert_eq!(
            error,
            "cannot query the container runtime at /a.sock: kq was built without the feature `cri`"
        );
    }
}
