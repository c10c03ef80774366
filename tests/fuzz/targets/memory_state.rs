//! Whatever stands in memory_manager_state, looking at it ends without a panic; what a kubelet goes on with
//! comes back from what it writes.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{encode, load};

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    for layouts in [KnownLayouts::BeforePods, KnownLayouts::WithoutPods, KnownLayouts::WithPods] {
        let found = load(bytes, layouts, None);
        for attempt in &found.attempts {
            let _ = attempt.pre_image();
        }
        let Ok(mut state) = found.outcome else { continue };
        // A pod without memory is written without a list.
        for blocks in state.pods.iter_mut().flat_map(|pods| pods.values_mut()) {
            if blocks.as_ref().is_some_and(Vec::is_empty) {
                *blocks = None;
            }
        }
        let written = encode(&state);
        let again = load(written.text.as_bytes(), layouts, Some(&state.policy_name));
        assert_eq!(again.outcome, Ok(state), "{}", written.text);
        assert_eq!(again.attempts[0].checksum_computed, written.checksum);
    }
});
