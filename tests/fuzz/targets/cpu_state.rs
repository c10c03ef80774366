//! Whatever stands in cpu_manager_state, looking at it ends without a panic; what a kubelet goes on with
//! comes back from what it writes.
#![no_main]

use kq_facts::checkpoint::cpu_manager::{encode, load};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for pod_level in [false, true] {
        let found = load(bytes, pod_level, None, None);
        for attempt in &found.attempts {
            let _ = attempt.pre_image();
        }
        let Ok(state) = found.outcome else { continue };
        let written = encode(&state);
        let again = load(written.text.as_bytes(), pod_level, Some(&state.policy_name), None);
        assert_eq!(again.outcome, Ok(state), "{}", written.text);
        assert_eq!(again.attempts[0].checksum_computed, written.checksum);
    }
});
