//! Whatever the lines of a recording are, reading them ends without a panic, and what was read is read again from what is
//! written.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::recording::{SnapshotSequence, entry};
use kq_facts::snapshot::Snapshot;
use serde_json::Value;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let mut read = SnapshotSequence::default();
    let (mut written, mut last) = (SnapshotSequence::default(), None::<Value>);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(snapshot) = read.next(line) else { break };
        let now = serde_json::to_value(&snapshot).expect("it is stored");
        let line = entry(last.as_ref(), &now).line().expect("it is written");
        let again = written.next(&line).expect("it comes back");
        assert_eq!(value(&again), now, "it comes back as it was");
        last = Some(now);
    }
});

fn value(snapshot: &Snapshot) -> Value {
    serde_json::to_value(snapshot).expect("it is stored")
}
