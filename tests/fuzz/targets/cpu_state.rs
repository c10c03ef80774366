//! Whatever stands in cpu_manager_state, looking at it ends without a panic; what a kubelet goes on with
//! comes back from what it writes.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::cpu_manager::{encode, load};
use kq_facts::checkpoint::layout::KnownLayouts;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    for layouts in [KnownLayouts::BeforePods, KnownLayouts::WithoutPods, KnownLayouts::WithPods] {
        let found = load(bytes, layouts, None, None);
        for attempt in &found.attempts {
            let _ = attempt.pre_image();
        }
        let Ok(state) = found.outcome else { continue };
        let written = encode(&state);
        let again = load(written.text.as_bytes(), layouts, Some(&state.policy_name), None);
        assert_eq!(again.outcome, Ok(state), "{}", written.text);
        let sum = again.taken().map(|attempt| attempt.checksum_computed);
        assert_eq!(sum, Some(written.checksum));
    }
});
