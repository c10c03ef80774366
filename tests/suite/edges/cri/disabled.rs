//! Without the feature `cri` there is an error that says so.

use kq::edge::cri::{RuntimeWants, read_runtime};
use std::path::Path;
use std::time::Duration;

#[test]
fn says_that_it_was_built_without() {
    let read = read_runtime("/a.sock", Path::new("/"), RuntimeWants::ALL, Duration::from_secs(1));
    let error = read.expect_err("nothing can be asked").to_string();
    assert_eq!(
        error,
        "cannot ask the container runtime at /a.sock: kq was built without the feature `cri`"
    );
}
