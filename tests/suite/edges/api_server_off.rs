//! A kq without the API server says so.

use kq_api::api_server::{ApiError, KubeconfigChoice, KubeconfigPlace, connect};
use std::time::Duration;

#[test]
fn nothing_is_asked_and_the_way_out_is_said() {
    let error =
        connect(KubeconfigPlace::Usual, &KubeconfigChoice::default(), Duration::from_secs(1))
            .expect_err("not built");
    assert!(matches!(error, ApiError::NotBuilt), "{error}");
    assert_eq!(error.to_string(), "this kq was built without the API server");
    assert!(error.hint().is_some_and(|hint| hint.contains("apiserver")));
}
