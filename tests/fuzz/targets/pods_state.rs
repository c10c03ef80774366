//! Whatever stands in allocated_pods_state or actuated_pods_state, looking at it ends without a panic; what
//! a kubelet goes on with is written so that it reads the same again.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::pod_allocation::{encode, load, load_v1_32};

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    for found in [load(bytes), load_v1_32(bytes)] {
        let _ = found.pre_image();
        let ((Ok(pods), _) | (_, Ok(pods))) = (found.outcome, found.shown) else { continue };
        let written = encode(&pods);
        let again = load(written.text.as_bytes());
        assert!(again.is_checksum_right(), "{}", written.text);
        let read = again.outcome.expect("it is whole");
        // A quantity may be written otherwise than it was read; the second time it is not.
        assert_eq!(encode(&read).text, written.text);
    }
});
