use super::super::decision::AfterReclaim;
use super::*;
use crate::objects;
use kq_facts::kubelet_config::{Signal, ThresholdOperator};
use kq_k8s::quantity::{Format, Quantity};

const SECOND: i64 = GoDuration::SECOND.0;

fn threshold(signal: Signal, amount: i64, grace_seconds: i64) -> EvictionThreshold {
    EvictionThreshold {
        signal,
        operator: ThresholdOperator::LessThan,
        value: ThresholdValue::Quantity(Quantity::from_units(amount, Format::BinarySi)),
        grace_period: GoDuration(grace_seconds * SECOND),
        min_reclaim: None,
    }
}

fn setup() -> EvictionSetup {
    EvictionSetup {
        layout: Layout::default(),
        pressure_transition_period: GoDuration(30 * SECOND),
        max_pod_grace_period_seconds: 7,
        local_storage_capacity_isolation: false,
        rules: KubeletRules::default(),
    }
}

fn summary(node: &str) -> StatsSummary {
    serde_json::from_str(&format!(r#"{{"node":{node}}}"#)).unwrap()
}

fn run(
    state: &mut ManagerState,
    setup: &EvictionSetup,
    seconds: i64,
    summary: &StatsSummary,
    pods: &[&Pod],
    after_reclaim: StatsAfterReclaim<'_>,
) -> Cycle {
    let now_ns = seconds.saturating_mul(SECOND);
    synchronize(state, setup, CycleInput { now_ns, summary: Some(summary), pods, after_reclaim })
}

#[test]
fn without_thresholds_or_stats_nothing_is_done() {
    let mut state = ManagerState::new(Vec::new());
    let none = StatsAfterReclaim::Unknown;
    let low = summary(r#"{"memory":{"availableBytes":1,"workingSetBytes":1}}"#);
    let cycle = run(&mut state, &setup(), 0, &low, &[], none);
    assert_eq!(cycle.outcome, Outcome::NothingConfigured);
    assert!(!state.started);

    let mut state = ManagerState::new(vec![threshold(Signal::MemoryAvailable, 10, 0)]);
    let cycle = run(&mut state, &setup(), 0, &low, &[], none);
    assert!(matches!(cycle.outcome, Outcome::Starved(_)));
    let before = state.clone();
    let input = CycleInput { now_ns: SECOND, summary: None, pods: &[], after_reclaim: none };
    let cycle = synchronize(&mut state, &setup(), input);
    assert_eq!(cycle.outcome, Outcome::NoStats);
    assert_eq!(cycle.conditions, BTreeSet::from([PressureCondition::Memory]));
    assert_eq!(state, before);
}

#[test]
fn the_first_cycle_sees_what_was_overwritten_and_not_what_was_appended() {
    let low = summary(
        r#"{"fs":{"availableBytes":50,"capacityBytes":100},
            "runtime":{"containerFs":{"availableBytes":5,"capacityBytes":100}}}"#,
    );
    // The amount for containerfs that is configured; which thresholds are crossed, cycle by cycle.
    let rows: [(&str, Option<i64>, [usize; 2]); 2] =
        [("appended", None, [0, 1]), ("overwritten", Some(1), [1, 1])];
    for (name, configured, expected) in rows {
        let mut thresholds = vec![threshold(Signal::NodeFsAvailable, 10, 0)];
        thresholds
            .extend(configured.map(|amount| threshold(Signal::ContainerFsAvailable, amount, 0)));
        let mut state = ManagerState::new(thresholds);
        let got = [0, 10].map(|seconds| {
            let none = StatsAfterReclaim::Unknown;
            run(&mut state, &setup(), seconds, &low, &[], none).thresholds.len()
        });
        assert_eq!(got, expected, "{name}");
    }
}

#[test]
fn what_follows_from_clearing_away_may_be_unknown() {
    let low = summary(r#"{"fs":{"availableBytes":1,"capacityBytes":100}}"#);
    let enough = summary(r#"{"fs":{"availableBytes":90,"capacityBytes":100}}"#);
    let pod: Pod = objects::pod("a").read();
    type Expected = fn(&AfterReclaim) -> bool;
    let rows: [(&str, StatsAfterReclaim<'_>, Expected, bool); 4] = [
        (
            "resolved",
            StatsAfterReclaim::Read(&enough),
            |a| matches!(a, AfterReclaim::Resolved(_)),
            false,
        ),
        (
            "not resolved",
            StatsAfterReclaim::Read(&low),
            |a| matches!(a, AfterReclaim::StillCrossed(_)),
            true,
        ),
        ("not measured", StatsAfterReclaim::Failed, |a| *a == AfterReclaim::NotMeasured, true),
        ("unknown", StatsAfterReclaim::Unknown, |a| *a == AfterReclaim::Unknown, true),
    ];
    for (name, after, expected, goes) in rows {
        let mut state = ManagerState::new(vec![threshold(Signal::NodeFsAvailable, 10, 0)]);
        let cycle = run(&mut state, &setup(), 0, &low, &[&pod], after);
        let Outcome::Starved(alternatives) = &cycle.outcome else { panic!("{name}") };
        let [only] = &alternatives[..] else { panic!("{name}") };
        assert!(expected(&only.after_reclaim), "{name}: {:?}", only.after_reclaim);
        assert_eq!(only.eviction.is_some(), goes, "{name}");
    }
}

#[test]
fn no_measurement_is_acted_on_twice() {
    let at = |time: &str| {
        summary(&format!(
            r#"{{"memory":{{"time":{time},"availableBytes":1,"workingSetBytes":1}}}}"#
        ))
    };
    let mut state = ManagerState::new(vec![threshold(Signal::MemoryAvailable, 10, 0)]);
    for (name, time, acts) in [
        ("first", r#""2026-01-01T00:00:10Z""#, true),
        ("the same", r#""2026-01-01T00:00:10Z""#, false),
        ("an older one", r#""2026-01-01T00:00:09Z""#, false),
        ("a newer one", r#""2026-01-01T00:00:10.5Z""#, true),
        ("without a time", "null", true),
        ("after one without a time", r#""2026-01-01T00:00:01Z""#, true),
    ] {
        let none = StatsAfterReclaim::Unknown;
        let cycle = run(&mut state, &setup(), 0, &at(time), &[], none);
        assert_eq!(matches!(cycle.outcome, Outcome::Starved(_)), acts, "{name}");
        assert_eq!(cycle.thresholds.len(), 1, "{name}");
    }
}

#[test]
fn soft_thresholds_wait_and_conditions_stay() {
    let low = summary(r#"{"memory":{"availableBytes":1,"workingSetBytes":1}}"#);
    let enough = summary(r#"{"memory":{"availableBytes":100,"workingSetBytes":1}}"#);
    let mut state = ManagerState::new(vec![threshold(Signal::MemoryAvailable, 10, 60)]);
    let slow = objects::pod("a").set("/metadata/generation", 3);
    let slow: Pod = slow.set("/spec/terminationGracePeriodSeconds", 5).read();
    let patient: Pod = objects::pod("b").read();
    for (name, seconds, stats, condition, victim) in [
        ("crossed", 0, &low, true, None),
        ("not long enough", 59, &low, true, None),
        ("long enough", 60, &low, true, Some((0, 5))),
        ("over, but only just", 89, &enough, true, None),
        ("over", 90, &enough, false, None),
        ("from the beginning", 91, &low, true, None),
        ("a clock that went back", -9_000_000_000, &low, true, None),
        ("a clock beyond all measure", i64::MAX, &low, true, Some((0, 5))),
    ] {
        let none = StatsAfterReclaim::Unknown;
        let cycle = run(&mut state, &setup(), seconds, stats, &[&slow, &patient], none);
        assert_eq!(!cycle.conditions.is_empty(), condition, "{name}");
        let got = match &cycle.outcome {
            Outcome::Starved(alternatives) => {
                let eviction = alternatives[0].eviction.as_ref().unwrap();
                // Nothing was measured of either pod, so either may go.
                assert_eq!(eviction.or_else, [1], "{name}");
                let (pod, planned) = eviction.victim.as_ref().unwrap();
                let condition = planned.condition.as_ref().unwrap();
                assert_eq!(condition.observed_generation, Some(3), "{name}");
                Some((*pod, planned.grace_seconds))
            }
            _ => None,
        };
        assert_eq!(got, victim, "{name}");
    }
}

#[test]
fn memory_comes_first_and_the_rest_is_left_to_chance() {
    let low = summary(
        r#"{"memory":{"availableBytes":1,"workingSetBytes":1},"rlimit":{"maxpid":9,"curproc":9},
            "fs":{"availableBytes":1,"capacityBytes":100}}"#,
    );
    let signals = |with: &[(Signal, i64)]| -> Vec<Signal> {
        let thresholds = with.iter().map(|(signal, amount)| threshold(*signal, *amount, 0));
        let mut state = ManagerState::new(thresholds.collect());
        let none = StatsAfterReclaim::Unknown;
        match run(&mut state, &setup(), 0, &low, &[], none).outcome {
            Outcome::Starved(all) => all.iter().map(|taken| taken.threshold.signal).collect(),
            _ => Vec::new(),
        }
    };
    use Signal::{MemoryAvailable, NodeFsAvailable, PidAvailable};
    type Row<'r> = (&'r str, &'r [(Signal, i64)], &'r [Signal]);
    let rows: [Row<'_>; 3] = [
        (
            "memory before all",
            &[(PidAvailable, 5), (MemoryAvailable, 5), (NodeFsAvailable, 5)],
            &[MemoryAvailable],
        ),
        ("either", &[(PidAvailable, 5), (NodeFsAvailable, 5)], &[PidAvailable, NodeFsAvailable]),
        ("only what is crossed", &[(PidAvailable, 5), (MemoryAvailable, 1)], &[PidAvailable]),
    ];
    for (name, with, expected) in rows {
        assert_eq!(signals(with), expected, "{name}");
    }
}
