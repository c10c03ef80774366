//! Whatever a device checkpoint holds, reading it ends without a panic; what was read is written to bytes
//! that a kubelet takes and that say the same; and what is made of a damaged one is sound.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::checkpoint::device::{DeviceCheckpoint, PodDevices, salvage};
use kq_facts::devices::CheckpointFact;
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let _ = CheckpointFact::read(bytes);
    if let Ok(loaded) = DeviceCheckpoint::parse(bytes) {
        check(&loaded.checkpoint);
        let restored = PodDevices::restore(&loaded.checkpoint, KubeletVersion::ASSUMED);
        let entries = loaded.checkpoint.entries.iter().flatten().count();
        let held = restored.pod_devices.entries.len();
        assert_eq!(held + restored.skipped.len() + restored.replaced.len(), entries);
        // What a kubelet would write of it is what it would start with again.
        let written = DeviceCheckpoint::of(&restored.pod_devices, &BTreeMap::new());
        check(&written);
        let again = PodDevices::restore(&written, KubeletVersion::ASSUMED);
        assert_eq!(again.pod_devices, restored.pod_devices);
    }
    let found = salvage(bytes, KubeletVersion::ASSUMED);
    let kept = found.entries.into_iter().filter(|(_, why_not)| why_not.is_none());
    let after = DeviceCheckpoint {
        entries: Some(kept.map(|(entry, _)| entry).collect()),
        registered: Some(found.registered),
    };
    assert!(salvage(&check(&after), KubeletVersion::ASSUMED).is_sound());
});

/// Writes a checkpoint and reads it again.
fn check(checkpoint: &DeviceCheckpoint) -> Vec<u8> {
    let bytes = checkpoint.to_bytes();
    let loaded = DeviceCheckpoint::parse(&bytes).expect("it parses");
    assert!(loaded.is_valid());
    assert_eq!(&loaded.checkpoint, checkpoint);
    bytes
}
