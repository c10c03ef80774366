//! Tests of the gates: the table, overrides, the flag.

use super::*;

/// Gates and their values.
type Pairs = &'static [(&'static str, bool)];

fn set(pairs: &[(&str, bool)]) -> BTreeMap<String, bool> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn the_table_is_sorted_and_readable() {
    assert!(table::GATES.is_sorted_by(|left, right| left.0 < right.0));
    for (name, states) in table::GATES {
        assert!(states.iter().any(|letter| state(*letter).is_some()), "{name}");
        assert!(states.iter().all(|l| *l == b'.' || state(*l).is_some()), "{name}");
    }
    for (name, needs) in table::DEPENDENCIES {
        for gate in std::iter::once(name).chain(needs.iter().copied().flatten()) {
            assert!(table::GATES.iter().any(|(known, _)| known == gate), "{gate}");
        }
    }
}

#[test]
fn defaults_follow_the_version() {
    // One column per version, 1.32 first: on, off or unknown.
    let cases = [
        (Gate::PodLevelResources, "--++++"),
        (Gate::InPlacePodLevelResourcesVerticalScaling, "...-++"),
        (Gate::InPlacePodVerticalScaling, "-+++++"),
        (Gate::InPlacePodVerticalScalingExclusiveCpus, "------"),
        (Gate::InPlacePodVerticalScalingExclusiveMemory, "..----"),
        (Gate::InPlacePodVerticalScalingInitContainers, "....++"),
        (Gate::SidecarContainers, "+++++."),
        (Gate::NodeSwap, "++++++"),
        (Gate::MemoryQos, "-----+"),
        (Gate::QosReserved, "------"),
        (Gate::CustomCpuCfsQuotaPeriod, "----++"),
        (Gate::DisableCpuQuotaWithExclusiveCpus, ".+++++"),
        (Gate::DraNodeAllocatableResources, "....--"),
        (Gate::PodLevelResourceManagers, "....--"),
        (Gate::PreventStaticPodApiReferences, "..+++."),
        (Gate::HugepageAwareEviction, ".....+"),
    ];
    for (gate, expected) in cases {
        let got: String = (32..=37)
            .map(|minor| match gate_state(gate.name(), KubeletVersion::new(1, minor)) {
                None => '.',
                Some(state) if state.default => '+',
                Some(_) => '-',
            })
            .collect();
        assert_eq!(got, expected, "{gate}");
    }
    let gates = FeatureGates::for_version(KubeletVersion::new(1, 32));
    assert!(!gates.enabled(Gate::DisableCpuQuotaWithExclusiveCpus));
    assert!(gates.with(Gate::MemoryQos, true).enabled(Gate::MemoryQos));
}

#[test]
fn what_a_removed_gate_did_stays_as_it_was_by_default() {
    let gates = FeatureGates::for_version(KubeletVersion::new(1, 37));
    for gate in [Gate::SidecarContainers, Gate::PreventStaticPodApiReferences] {
        assert!(
            gate_state(gate.name(), gates.version()).is_none() && gates.enabled(gate),
            "{gate}"
        );
        assert!(gates.with_overrides(&set(&[("MemoryQoS", false)])).expect("gates").enabled(gate));
    }
    let before = FeatureGates::for_version(KubeletVersion::new(1, 36));
    assert!(!before.enabled(Gate::HugepageAwareEviction), "a gate that is not there yet is off");
}

#[test]
fn no_default_breaks_a_dependency() {
    for minor in 32..=36 {
        let gates = FeatureGates::for_version(KubeletVersion::new(1, minor));
        assert_eq!(gates.with_overrides(&BTreeMap::new()), Ok(gates), "1.{minor}");
    }
}

#[test]
fn overrides_are_refused_with_the_kubelets_texts() {
    let cases: &[(&str, u32, Pairs, &str)] = &[
        ("unknown", 36, &[("Nonsense", true)], "unrecognized feature gate: Nonsense"),
        (
            "locked on",
            36,
            &[("NodeSwap", false)],
            "cannot set feature gate NodeSwap to false, feature is locked to true",
        ),
        (
            "locked off",
            36,
            &[("GitRepoVolumeDriver", true)],
            "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false",
        ),
        (
            "dependency",
            36,
            &[("PodLevelResources", false)],
            "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are \
             disabled: [PodLevelResources]",
        ),
        (
            "two locked",
            36,
            &[("NodeSwap", false), ("SidecarContainers", false)],
            "[cannot set feature gate NodeSwap to false, feature is locked to true, cannot set \
             feature gate SidecarContainers to false, feature is locked to true]",
        ),
        (
            "dependencies of 1.37",
            37,
            &[("PodLevelResources", false), ("InPlacePodLevelResourcesVerticalScaling", false)],
            "[PodLevelResourcesFixDefaulting is enabled, but depends on features that are disabled: \
             [PodLevelResources], PodLevelResourcesFixKubeletQOSClass is enabled, but depends on \
             features that are disabled: [PodLevelResources]]",
        ),
        ("removed", 36, &[("MemoryManager", true)], "unrecognized feature gate: MemoryManager"),
    ];
    for (name, minor, pairs, expected) in cases {
        let gates = FeatureGates::for_version(KubeletVersion::new(1, *minor));
        let got = gates.with_overrides(&set(pairs)).expect_err(name).to_string();
        assert_eq!(got, *expected, "{name}");
    }
}

#[test]
fn overrides_are_applied() {
    let cases: &[(&str, u32, Pairs, Gate, bool)] = &[
        ("on", 36, &[("MemoryQoS", true)], Gate::MemoryQos, true),
        ("not yet locked", 33, &[("NodeSwap", false)], Gate::NodeSwap, false),
        ("locked, same value", 36, &[("NodeSwap", true)], Gate::NodeSwap, true),
        ("all alpha", 34, &[("AllAlpha", true)], Gate::MemoryQos, true),
        ("own value wins", 34, &[("AllAlpha", true), ("MemoryQoS", false)], Gate::MemoryQos, false),
        ("all beta", 36, &[("AllBeta", false)], Gate::PodLevelResources, false),
        (
            "both",
            36,
            &[("PodLevelResources", false), ("InPlacePodLevelResourcesVerticalScaling", false)],
            Gate::PodLevelResources,
            false,
        ),
        (
            "no dependencies yet",
            34,
            &[("PodLevelResources", false)],
            Gate::PodLevelResources,
            false,
        ),
    ];
    for (name, minor, pairs, gate, expected) in cases {
        let gates = FeatureGates::for_version(KubeletVersion::new(1, *minor));
        let got = gates.with_overrides(&set(pairs)).map(|gates| gates.enabled(*gate));
        assert_eq!(got, Ok(*expected), "{name}");
    }
}

#[test]
fn unknown_gates_have_hints() {
    let cases = [
        ("removed", 36, "MemoryManager", Some("MemoryManager exists from 1.32 to 1.35")),
        (
            "newer",
            32,
            "NodeDeclaredFeatures",
            Some("NodeDeclaredFeatures exists from 1.35 to 1.37"),
        ),
        ("misspelt", 36, "MemoryQOs", Some("did you mean MemoryQoS?")),
        ("nothing like it", 36, "Unheard", None),
    ];
    for (name, minor, gate, expected) in cases {
        let problem = unrecognized(gate, KubeletVersion::new(1, minor));
        let FeatureGateProblem::Unrecognized { hint, .. } = problem else {
            panic!("{name}: not an unknown gate");
        };
        assert_eq!(hint.map(|hint| hint.to_string()).as_deref(), expected, "{name}");
    }
}

#[test]
fn the_flag_is_read() {
    let cases: &[(&str, &str, Result<Pairs, &str>)] = &[
        ("two", "A=true, B = 0", Ok(&[("A", true), ("B", false)])),
        ("empty parts", ",A=T,", Ok(&[("A", true)])),
        ("no value", "A", Err("malformed pair, expect string=bool")),
        (
            "not a bool",
            "A=yes",
            Err("invalid value of A: yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"),
        ),
    ];
    for (name, text, expected) in cases {
        let got = parse_flag(text).map_err(|error| error.to_string());
        assert_eq!(got, expected.map(set).map_err(str::to_owned), "{name}");
    }
}
