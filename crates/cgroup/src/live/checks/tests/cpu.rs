//! Limits and weights.

use super::*;

#[test]
fn limits_below_a_millisecond_are_named() {
    come_out(
        "cpu-limits",
        &[
            ("none", as_it_is, Fine, "none below 10m", ""),
            ("at the least", |given| given.pod(limited("10m")), Fine, "none below 10m", ""),
            (
                "below it",
                |given| given.pod(limited("9m")),
                Warn,
                "1 limit below 10m: default/web/web 9m",
                "1000us",
            ),
            (
                "of an ended pod",
                |given| {
                    given.pod(limited("9m").phase("Succeeded"));
                    given.runtime().containers =
                        Lookup::found("containerd.sock", Vec::new().into());
                },
                Fine,
                "none",
                "",
            ),
            (
                "of an ended pod whose container runs",
                |given| given.pod(limited("9m").phase("Succeeded")),
                Warn,
                "default/web/web 9m",
                "10m or more",
            ),
            (
                "of the pod as a whole",
                |given| given.pod(web("1m").set("/spec/resources/limits/cpu", "5m")),
                Warn,
                "default/web 5m",
                "10m or more",
            ),
            (
                "by a shorter period",
                |given| {
                    given.config(json!({
                        "cpuCFSQuotaPeriod": "10ms",
                        "featureGates": { "CustomCPUCFSQuotaPeriod": true },
                    }));
                    given.pod(limited("99m"));
                },
                Warn,
                "1 limit below 100m",
                "100m or more",
            ),
            (
                "not enforced",
                |given| {
                    given.config(json!({ "cpuCFSQuota": false }));
                    given.pod(limited("1m"));
                },
                Fine,
                "enforces no limit",
                "",
            ),
            ("not known", Given::no_pods, Unknown, "not known", "--pods FILE"),
        ],
    );
}

#[test]
fn the_weight_of_all_pods_is_held_against_the_system() {
    come_out(
        "cpu-weight",
        &[
            (
                "enough",
                as_it_is,
                Fine,
                "kubepods.slice 157 against system.slice 100, user.slice 100: 44.0% (1759m of 4000m)",
                "",
            ),
            (
                "too little when all are busy",
                |given| given.pod(web("2")),
                Warn,
                "pods request 2000m",
                "pressure",
            ),
            (
                "one sibling takes what pods request",
                |given| {
                    given.cgroup("/system.slice", &[("cpu.weight", "1000\n")]);
                    given.pod(web("2"));
                },
                Fail,
                "12.5%",
                "system.slice can take 3457m, and 0m are reserved",
            ),
            (
                "one sibling outweighs, and pods do not mind",
                |given| given.cgroup("/system.slice", &[("cpu.weight", "200\n")]),
                Warn,
                "pods request 500m",
                "system.slice can take 2240m",
            ),
            (
                "what outweighs is reserved",
                |given| {
                    given.config(json!({ "systemReserved": { "cpu": "2500m" } }));
                    given.cgroup("/system.slice", &[("cpu.weight", "200\n")]);
                },
                Fine,
                "34.4%",
                "",
            ),
            (
                "what is reserved is not known",
                |given| {
                    given.no_config();
                    given.cgroup("/system.slice", &[("cpu.weight", "200\n")]);
                },
                Unknown,
                "system.slice outweighs it",
                "--kubelet-config FILE",
            ),
            ("pods not known", Given::no_pods, Unknown, "44.0%", "--pods FILE"),
            ("no tree", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "no file",
                |given| given.cgroup("/kubepods.slice", &[]),
                Unknown,
                "has no cpu.weight",
                "cpu controller",
            ),
            (
                "below another root",
                |given| {
                    given.config(json!({ "cgroupDriver": "systemd", "cgroupRoot": "/a" }));
                    given.cgroup("/a.slice/a-kubepods.slice", &[("cpu.weight", "157\n")]);
                },
                Unknown,
                "not at the top",
                "by hand",
            ),
            (
                "no number of CPUs",
                |given| {
                    given.snapshot.host.texts.remove(CPUS_ONLINE);
                    given.snapshot.node = Lookup::default();
                },
                Unknown,
                "number of CPUs",
                "--capacity cpu=N",
            ),
            (
                "shares of cgroup v1",
                |given| {
                    given.layout(V1);
                    for (path, shares) in [
                        ("/kubepods.slice", "4096\n"),
                        ("/system.slice", "1024\n"),
                        ("/user.slice", "1024\n"),
                    ] {
                        given.cgroup(path, &[("cpu.shares", shares)]);
                    }
                },
                Fine,
                "kubepods.slice 4096 against system.slice 1024, user.slice 1024: 66.7%",
                "",
            ),
        ],
    );
}
