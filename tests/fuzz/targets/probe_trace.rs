//! Whatever a trace holds, reading it ends without a panic, what was read comes back from what is
//! written, and it can be simulated, with other settings too.
#![cfg_attr(fuzzing, no_main)]

use kq_probe::simulation::{WhatIf, simulate, table, wide};
use kq_probe::trace::Trace;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::parse(bytes, &mut Vec::new()) else { return };
    let stored = serde_json::to_vec(&trace).expect("it is stored");
    let again = Trace::parse(&stored, &mut Vec::new()).expect("it comes back");
    assert_eq!(again, trace, "it comes back as it was");
    let other = WhatIf {
        initial_delay_seconds: Some(i32::MAX),
        period_seconds: Some(i32::MAX),
        failure_threshold: Some(1),
        success_threshold: Some(1),
        ..WhatIf::default()
    };
    for what_if in [WhatIf::default(), other] {
        let Ok(simulation) = simulate(&trace, &what_if) else { return };
        assert!(simulation.steps.len() <= trace.steps.len());
        let _ = (table(&simulation).to_string(), wide(&simulation).to_string());
    }
});
