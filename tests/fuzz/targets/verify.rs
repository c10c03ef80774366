//! Whatever stands in a file of state, judging it ends without a panic, and with a verdict that a second
//! look confirms.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::StateFile;
use kq_managers::verify::{
    Content, StateFileContent, Verification, VerifyContext, recognise, view,
};
use std::borrow::Cow;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let file = |file| StateFileContent {
        file,
        path: "/var/lib/kubelet/file".to_owned(),
        folder: "/var/lib/kubelet".to_owned(),
        content: Content::Bytes(Cow::Borrowed(bytes)),
    };
    let files: Vec<_> =
        [None, recognise(bytes)].into_iter().chain(StateFile::ALL.map(Some)).map(file).collect();
    let answer = Verification::of(&files, &VerifyContext::default());
    assert_eq!(answer, Verification::of(&files, &VerifyContext::default()));
    let _ = (view::table(&answer), view::wide(&answer), view::advice(&answer));
});
