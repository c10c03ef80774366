//! One fact after the other is changed: a value that changes with it has to name it.

use super::*;
use crate::plan::{Plan, plan, qualified_name};
use kq_facts::cgroup_file::FileUse;
use kq_facts::describe::{ConfigSource, NodeSources, describe};
use kq_facts::overrides::{KubeletFlags, Overrides};
use kq_facts::settings::assign;
use kq_facts::weight_formula::WeightFormula;
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::manifest::{LoadedPod, load};

const PODS: &str = r#"{"apiVersion":"v1","kind":"List","items":[
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"guaranteed","namespace":"n","uid":"g"},
  "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2","memory":"1Gi"}}}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"part","namespace":"n","uid":"p"},
  "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1500m","memory":"1Gi"}}}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"burst","namespace":"n","uid":"b"},
  "spec":{"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"30m","memory":"64Mi"}}}],
   "containers":[{"name":"c","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"500m","memory":"128Mi"}}},
   {"name":"d","resources":{"requests":{"memory":"32Mi"}}}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"limited","namespace":"n","uid":"l"},
  "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3m","memory":"64Mi"},
   "limits":{"cpu":"70m","memory":"128Mi","hugepages-2Mi":"4Mi"}}}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"effort","namespace":"n","uid":"e"},
  "spec":{"containers":[{"name":"c"}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"whole","namespace":"n","uid":"w"},
  "spec":{"resources":{"requests":{"cpu":"300m","memory":"100Mi"},
   "limits":{"cpu":"400m","memory":"200Mi","hugepages-2Mi":"4Mi"}},
   "containers":[{"name":"c"},{"name":"d","resources":{"requests":{"cpu":"50m"}}}]}}]}"#;

/// A node that can be changed.
#[derive(Clone)]
struct Setup {
    settings: Vec<(String, String)>,
    overrides: Overrides,
    formula: WeightFormula,
    disables_hugetlb: Option<bool>,
    pods: Vec<LoadedPod>,
}

impl Setup {
    fn of(version: &str, cgroups: CgroupVersion, settings: &[(&str, &str)]) -> Self {
        let list = |text: &str| {
            let pairs = text.split(',').map(|pair| pair.split_once('=').expect("a pair"));
            let pairs =
                pairs.map(|(name, amount)| (name.into(), amount.parse().expect("an amount")));
            pairs.collect::<kq_k8s::pod::ResourceList>()
        };
        let owned = |(field, text): &(&str, &str)| ((*field).to_owned(), (*text).to_owned());
        let mut given = vec![("failSwapOn".to_owned(), "false".to_owned())];
        given.extend(settings.iter().map(owned));
        Self {
            settings: given,
            overrides: Overrides {
                kubelet: KubeletFlags {
                    version: Some(version.parse().expect("a version")),
                    ..KubeletFlags::default()
                },
                cgroup_version: Some(cgroups),
                capacity: list("cpu=4,memory=8Gi,pid=32768,hugepages-2Mi=64Mi"),
                swap_capacity: Some(1 << 30),
                swap_controller: Some(true),
                page_size: Some(4096),
                ..Overrides::default()
            },
            formula: WeightFormula::Linear,
            disables_hugetlb: None,
            pods: load("pods.json", PODS.as_bytes()).pods,
        }
    }

    fn with(&self, field: &str, text: &str) -> Self {
        let mut changed = self.clone();
        changed.settings.push((field.to_owned(), text.to_owned()));
        changed
    }

    /// Plans, and hands the plan over; `None`: the kubelet refuses this.
    fn plan<T>(&self, show: impl FnOnce(&Plan<'_>) -> T) -> Option<T> {
        let mut config = ConfigSource::default();
        for (field, text) in &self.settings {
            assign(&mut config, field, text, Origin::Flag("--set")).expect("YAML");
        }
        let overrides = &self.overrides;
        let sources = NodeSources { config: &config, object: None, overrides, live: None };
        let node = describe(sources).ok()?;
        let mut pods = self.pods.clone();
        for loaded in &mut pods {
            apply_api_defaults(&mut loaded.pod, &node.rules);
        }
        let disables_hugetlb = self.disables_hugetlb;
        let formula =
            RuntimeFormula { disables_hugetlb, ..RuntimeFormula::new(self.formula, true) };
        let mut planned = plan(&pods, &node, formula).ok()?;
        planned.withhold(Knowledge::default());
        Some(show(&planned))
    }

    /// Returns the text of every value by its place, and what it rests on.
    fn values(&self) -> Option<Values> {
        self.plan(|plan| {
            let mut values = Values::new();
            for root in &plan.roots {
                root.walk(0, &mut |cgroup, _| {
                    for file in &files() {
                        let rests_on = rests_on(
                            cgroup,
                            file,
                            &plan.settings,
                            plan.knowledge.has_pod_level_resources,
                        );
                        let text = cgroup.text(file).map(str::to_owned);
                        let missing = cgroup.missing.iter().any(|(missing, _)| missing == file);
                        assert!(!missing, "nothing is missing here: {} {file}", cgroup.path);
                        values.insert((place(cgroup), file.clone()), (text, rests_on));
                    }
                });
            }
            values
        })
    }
}

type Values = std::collections::BTreeMap<(String, String), (Option<String>, Vec<Premise>)>;

/// Returns the names of all files in which something is set.
fn files() -> BTreeSet<String> {
    let is_set =
        |file: &&CgroupFile| matches!(file.row().used_for, FileUse::Setting | FileUse::OfProcess);
    let names = |file: &CgroupFile| {
        [CgroupVersion::V1, CgroupVersion::V2].map(|version| file.sized_name(version, "2MB"))
    };
    CgroupFile::ALL.iter().filter(is_set).flat_map(names).collect()
}

fn place(cgroup: &PlannedCgroup<'_>) -> String {
    match cgroup.owner {
        Owner::Node(part) => part.name().to_owned(),
        Owner::Qos(class) => class.to_string(),
        Owner::Pod(pod, _) => qualified_name(pod),
        Owner::Container { pod, name, .. } => format!("{} {name}", qualified_name(pod)),
    }
}

fn bases() -> Vec<Setup> {
    let mut bases = Vec::new();
    for cgroups in [CgroupVersion::V1, CgroupVersion::V2] {
        for settings in [
            vec![],
            vec![("featureGates", "{MemoryQoS: true, QOSReserved: true}")],
            vec![
                ("featureGates", "{MemoryQoS: true, QOSReserved: true}"),
                ("memoryReservationPolicy", "TieredReservation"),
                ("qosReserved", "{memory: 50%}"),
                ("cpuManagerPolicy", "static"),
                ("systemReserved", "{cpu: 100m, memory: 100Mi}"),
            ],
            vec![("memorySwap", "{swapBehavior: LimitedSwap}"), ("cpuCFSQuotaPeriod", "50ms")],
        ] {
            bases.push(Setup::of("1.36", cgroups, &settings));
            bases.push(Setup::of("1.34", cgroups, &settings));
        }
    }
    bases.retain(|base| base.values().is_some());
    assert!(bases.len() > 8, "{} of the setups can be planned", bases.len());
    bases
}

/// Checks that each value that differs between two setups names what was changed.
#[track_caller]
fn holds(base: &Setup, changed: &Setup, what: &str, names: &dyn Fn(&Premise) -> bool) -> usize {
    let before = base.values().expect("a plan");
    let Some(after) = changed.values() else { return 0 };
    let mut differing = 0;
    for (at, (text, rests_on)) in &before {
        // A cgroup can be there in one of them only.
        let Some((other, _)) = after.get(at) else { continue };
        if text != other {
            differing += 1;
            assert!(
                rests_on.iter().any(names),
                "{what}: {at:?} is {text:?} and {other:?}, and rests on {rests_on:?} ({:?})",
                base.settings
            );
        }
    }
    differing
}

#[test]
fn a_value_names_each_field_of_the_configuration_that_it_rests_on() {
    for (field, texts) in [
        ("cpuCFSQuota", vec!["false"]),
        ("cpuCFSQuotaPeriod", vec!["20ms", "200ms"]),
        ("cpuManagerPolicy", vec!["static", "none"]),
        ("enforceNodeAllocatable", vec!["[]", "[none]", "[pods]"]),
        ("kubeReserved", vec!["{cpu: 200m, memory: 64Mi, pid: '100'}"]),
        ("systemReserved", vec!["{cpu: 300m, memory: 1Gi, pid: '1000'}"]),
        ("memoryReservationPolicy", vec!["None", "TieredReservation"]),
        ("memorySwap", vec!["{swapBehavior: LimitedSwap}", "{swapBehavior: NoSwap}"]),
        ("memoryThrottlingFactor", vec!["0.5"]),
        ("podPidsLimit", vec!["77"]),
        ("qosReserved", vec!["{memory: 10%}"]),
        ("reservedSystemCPUs", vec!["0-1"]),
        ("singleProcessOOMKill", vec!["true"]),
    ] {
        let mut differing = 0;
        for base in bases() {
            for text in &texts {
                let names = |premise: &Premise| *premise == Premise::Field(field);
                differing += holds(&base, &base.with(field, text), field, &names);
            }
        }
        assert!(differing > 0, "{field} decides about nothing");
    }
}

#[test]
fn a_value_names_each_gate_and_version_that_it_rests_on() {
    let gates = [
        Gate::PodLevelResources,
        Gate::MemoryQos,
        Gate::QosReserved,
        Gate::CustomCpuCfsQuotaPeriod,
        Gate::DisableCpuQuotaWithExclusiveCpus,
    ];
    let mut differing = 0;
    for base in bases() {
        for gate in gates {
            for on in [true, false] {
                let changed = base.with(&format!("featureGates.{gate}"), &on.to_string());
                let names = |premise: &Premise| *premise == Premise::Gate(gate);
                differing += holds(&base, &changed, gate.name(), &names);
            }
        }
        for minor in 32..=36 {
            let mut changed = base.clone();
            changed.overrides.kubelet.version = Some(KubeletVersion::new(1, minor));
            let names = |premise: &Premise| match premise {
                Premise::Gate(gate) => differs_by_version(*gate),
                Premise::Since(_) => true,
                _ => false,
            };
            differing += holds(&base, &changed, &format!("1.{minor}"), &names);
        }
    }
    assert!(differing > 50, "{differing}");
}

#[test]
fn a_value_names_each_fact_about_the_machine_that_it_rests_on() {
    for (fact, change) in [
        (CgroupFact::Pods, (|it| it.pods.truncate(2)) as fn(&mut Setup)),
        (CgroupFact::SwapController, |it| it.overrides.swap_controller = Some(false)),
        (CgroupFact::PageSize, |it| it.overrides.page_size = Some(65536)),
        (CgroupFact::HugepageCapacity, |it| {
            it.overrides.capacity.remove(&"hugepages-2Mi".into());
        }),
        (CgroupFact::RuntimeFormula, |it| it.formula = WeightFormula::Quadratic),
        (CgroupFact::RuntimeHugepages, |it| it.disables_hugetlb = Some(true)),
    ] {
        let mut differing = 0;
        for base in bases() {
            let mut changed = base.clone();
            change(&mut changed);
            let names = |premise: &Premise| *premise == Premise::Fact(fact);
            differing += holds(&base, &changed, &format!("{fact:?}"), &names);
        }
        assert!(differing > 0, "{fact:?} decides about nothing");
    }
}

#[test]
fn what_rests_on_nothing_that_is_missing_is_known() {
    let setup = Setup::of("1.36", CgroupVersion::V2, &[]);
    let unknown = |knowledge: &Knowledge, at: &str, file: &str| {
        setup.plan(|plan| {
            let knowledge = knowledge.clone().with_pods([]);
            let mut unknown = None;
            for root in &plan.roots {
                root.walk(0, &mut |cgroup, _| {
                    if place(cgroup) == at {
                        unknown = knowledge.unknown(cgroup, file, &plan.settings).map(|it| it.fact);
                    }
                });
            }
            unknown
        })
    };
    let nothing = Knowledge { lacks_configuration: true, ..Knowledge::default() };
    let pods = Knowledge {
        missing: BTreeSet::from([CgroupFact::Pods]),
        unknown_pods: Some("one is not there".to_owned()),
        ..Knowledge::default()
    };
    let limit = Knowledge { given_fields: BTreeSet::from(["podPidsLimit"]), ..nothing.clone() };
    let memory =
        Knowledge { given_gates: BTreeSet::from(["MemoryQoS".to_owned()]), ..nothing.clone() };
    let field = |name| Some(CgroupFact::KubeletConfig(name));
    for (name, knowledge, at, file, expected) in [
        ("no configuration", &nothing, "n/burst", "pids.max", field("podPidsLimit")),
        ("the field by a flag", &limit, "n/burst", "pids.max", None),
        ("no configuration", &nothing, "n/burst", "cpu.max", None),
        ("no configuration", &nothing, "n/limited", "cpu.max", field("cpuCFSQuota")),
        ("a request is the pod's own", &nothing, "n/burst c", "cpu.weight", None),
        ("no configuration", &nothing, "kubepods", "memory.max", field("systemReserved")),
        ("no configuration", &nothing, "kubepods", "memory.min", field("featureGates")),
        ("the gate by a flag", &memory, "kubepods", "memory.min", None),
        ("least shares", &nothing, "BestEffort", "cpu.weight", None),
        ("not all pods", &pods, "Burstable", "cpu.weight", Some(CgroupFact::Pods)),
        ("not all pods", &pods, "kubepods", "memory.min", None),
        ("not all pods", &pods, "n/burst", "cpu.weight", None),
        ("everything", &Knowledge::default(), "kubepods", "memory.max", None),
    ] {
        assert_eq!(unknown(knowledge, at, file), Some(expected), "{name}: {at} {file}");
    }
}
