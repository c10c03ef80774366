//! The kubelet's true times lie between those that kq names.

use super::history::{History, Is, at, cases, history, name, rules};
use crate::cycle::detect;
use crate::knowledge::{ImageTimes, RecordCoverage, Sources};
use crate::uses::listed;
use kq_facts::image_records::ImageRecords;
use kq_facts::timestamp::Timestamp;
use proptest::prelude::*;

/// Returns kq's answer for every unused image, with the kubelet's memory of it.
fn known(
    history: &History,
    kubelet_start: Option<Timestamp>,
    records: Option<&ImageRecords>,
) -> Vec<(ImageTimes, Option<Timestamp>, Option<Timestamp>)> {
    let now = history.now;
    let mut memory = history.memory(name);
    let (images, in_use) = (listed(&history.images(now, name)), history.in_use(now, name));
    detect(&mut memory, &images, &in_use, at(now), rules());
    let unused = history.lives.iter().enumerate().filter(|(_, life)| life.state(now) == Is::Unused);
    unused
        .map(|(index, life)| {
            let sources = Sources { now: at(now), kubelet_start, records };
            let known = ImageTimes::of(sources, &name(index), "", life.created(now));
            let remembered = &memory[name(index).as_str()];
            (known, remembered.first_detected, remembered.last_used)
        })
        .collect()
}

/// Returns the error, if any.
fn check(
    known: &ImageTimes,
    found: Option<Timestamp>,
    used: Option<Timestamp>,
) -> Result<(), String> {
    let found = found.expect("it was found");
    let span = known.first_detected;
    if span.earliest.is_some_and(|earliest| found < earliest) || found > span.latest {
        return Err(format!("found at {found}: {known:#?}"));
    }
    let is_within = match (used, known.last_used.span) {
        (None, _) => known.last_used.may_be_never,
        (Some(_), None) => false,
        (Some(used), Some(span)) => {
            span.earliest.is_none_or(|earliest| earliest <= used) && used <= span.latest
        }
    };
    // What is likely must at least be possible.
    let likely = known.likely_last_used;
    let likely_is_within = match (likely, known.last_used.span) {
        (None, _) => true,
        (Some(likely), Some(span)) => likely <= span.latest,
        (Some(_), None) => false,
    };
    match is_within && likely_is_within {
        true => Ok(()),
        false => Err(format!("used at {used:?}: {known:#?}")),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_the_kubelet_remembers_is_between_what_kq_names(history in history()) {
        let records = history.records();
        let is_as_assumed = history.is_as_assumed();
        for start in [Some(at(history.start)), None] {
            for records in [records.as_ref(), None] {
                if records.is_some() && !is_as_assumed {
                    continue;
                }
                for (known, found, used) in known(&history, start, records) {
                    prop_assert_eq!(check(&known, found, used), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_clock_that_went_back_leaves_nothing_known(
        history in history(),
        back in 0..20_000_i64,
    ) {
        let Some(records) = history.records() else { return Ok(()) };
        let last = *history.looks.last().expect("there are records");
        // The kubelet remembers the times that were, and the question is asked at an earlier one.
        let then = History { now: last - back, ..history.clone() };
        let memory = history.memory(name);
        for record in memory.values() {
            for kubelet_start in [Some(at(history.start)), None] {
                let sources =
                    Sources { now: at(then.now), kubelet_start, records: Some(&records) };
                let known = ImageTimes::of(sources, &record.id, "", None);
                if back > 0 {
                    prop_assert_eq!(known.basis, RecordCoverage::Nothing);
                    let checked = check(&known, record.first_detected, record.last_used);
                    prop_assert_eq!(checked, Ok(()));
                }
            }
        }
    }
}
