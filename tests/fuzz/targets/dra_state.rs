//! Whatever stands in dra_manager_state, looking at it ends without a panic; what a kubelet goes on with
//! comes back from what it writes.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::dra::{encode, load};

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let found = load(bytes);
    let ((Ok(claims), _) | (_, Ok(claims))) = (found.outcome, found.shown) else { return };
    let written = encode(claims.as_deref());
    let again = load(written.text.as_bytes());
    assert!(again.is_checksum_right(), "{}", written.text);
    assert_eq!(again.outcome, Ok(claims), "{}", written.text);
});
