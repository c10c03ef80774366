//! Whatever a plugin answered, decoding it ends without a panic, and what was decoded comes back from
//! what is encoded.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::device::ContainerAllocateResponse;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let Ok(answer) = ContainerAllocateResponse::decode(bytes) else { return };
    let encoded = answer.encode();
    assert_eq!(ContainerAllocateResponse::decode(&encoded), Ok(answer));
});
