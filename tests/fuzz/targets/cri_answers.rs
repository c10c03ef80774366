//! Whatever the bytes, reading them as any answer of a container runtime ends without a panic; what it
//! says can be stored and comes back as it was.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::runtime::RuntimeFacts;
use kq_linux::cri::{Answered, decode_answer};

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    for answered in Answered::ALL {
        let Ok(facts) = decode_answer(answered, bytes) else { continue };
        let stored = serde_json::to_string(&facts).expect("it is stored");
        let again: RuntimeFacts = serde_json::from_str(&stored).expect("it comes back");
        assert_eq!(again, facts);
        // Two messages one after the other are one with the lists of both.
        let twice = [bytes, bytes].concat();
        assert!(decode_answer(answered, &twice).is_ok(), "{answered:?}");
    }
});
