//! The sources: what was found, and from where.

use super::*;

#[test]
fn the_kubelet_is_checked() {
    let gone = |given: &mut Given| {
        given.snapshot.kubelet = Lookup::failed("/proc", "no kubelet runs on this node");
    };
    come_out(
        "kubelet",
        &[
            ("runs", as_it_is, Fine, "1.36.2, process 700 (kubelet)", ""),
            (
                "gone, with pods",
                gone,
                Fail,
                "one has left the cgroup /kubepods.slice",
                "start the kubelet",
            ),
            (
                "gone, without pods",
                |given| {
                    given.snapshot.kubelet =
                        Lookup::failed("/proc", "no kubelet runs on this node");
                    given.remove("/kubepods.slice");
                    given.snapshot.kubelet_config = Lookup::default();
                    given.snapshot.runtime = Lookup::default();
                },
                Unknown,
                "no kubelet runs",
                "--kubelet-version",
            ),
            (
                "no version",
                |given| given.snapshot.kubelet_version = Lookup::failed("exe", "timed out"),
                Unknown,
                "exe: timed out",
                "--kubelet-version",
            ),
            (
                "several",
                |given| {
                    given.snapshot.kubelet.found.as_mut().expect("one").value.others = vec![701]
                },
                Warn,
                "701",
                "one kubelet",
            ),
            (
                "another version was reported",
                |given| given.object(json!({ "nodeInfo": { "kubeletVersion": "v1.35.0" } })),
                Warn,
                "the running program is v1.36.2, the Node object has v1.35.0",
                "wait until",
            ),
        ],
    );
}

#[test]
fn the_sources_are_checked() {
    come_out(
        "kubelet-config",
        &[
            ("known", as_it_is, Fine, "1 field set", ""),
            (
                "not known",
                Given::no_config,
                Unknown,
                "refused the connection",
                "--kubelet-config FILE",
            ),
            (
                "a kubelet that does not start",
                |given| given.start.refuses_config = true,
                Fail,
                "does not start with it",
                "before the kubelet is started again",
            ),
            (
                "a field that the kubelet ignores",
                |given| given.ignored = vec!["unknown field maxPodz with value 5"],
                Warn,
                "maxPodz",
                "correct the name",
            ),
        ],
    );
    come_out(
        "node-object",
        &[
            ("known", as_it_is, Fine, "n1", ""),
            ("a file", |given| given.node_file = Some("n1.json"), Fine, "n1", ""),
            (
                "not known",
                |given| given.snapshot.node = Lookup::failed("the API server", "401"),
                Unknown,
                "401",
                "--node-file FILE",
            ),
            (
                "something else is allocatable",
                |given| {
                    given.object(
                        json!({ "capacity": { "cpu": "4" }, "allocatable": { "cpu": "3" } }),
                    );
                },
                Warn,
                "reports 3 of cpu as allocatable",
                "restart the kubelet",
            ),
        ],
    );
    come_out(
        "pods",
        &[
            ("known", as_it_is, Fine, "1 from the kubelet", ""),
            ("not known", Given::no_pods, Unknown, "refused the connection", "--pods FILE"),
            (
                "one left out",
                |given| given.recorded().left_out = vec!["pod x: no name".to_owned()],
                Warn,
                "1 left out: pod x",
                "correct",
            ),
            (
                "static pods only",
                |given| {
                    given.recorded().source = PodSource::StaticManifests;
                    let others = vec![sandbox(STRANGER, "other")];
                    given.runtime().sandboxes = Lookup::found("containerd.sock", others.into());
                },
                Warn,
                "default/other",
                "--pods FILE",
            ),
        ],
    );
    come_out(
        "container-runtime",
        &[
            ("known", as_it_is, Fine, "containerd 2.1.4 with runc 1.3.3", ""),
            (
                "not known",
                |given| given.snapshot.runtime = Lookup::failed("unix:///x", "no such file"),
                Unknown,
                "unix:///x: no such file",
                "--runtime-endpoint",
            ),
            (
                "an old CRI",
                |given| given.runtime().version.runtime_api_version = "v1alpha2".to_owned(),
                Fail,
                "v1alpha2",
                "update",
            ),
            (
                "no low-level runtime",
                |given| given.runtime().low_level = Lookup::failed("runc", "timed out"),
                Unknown,
                "runc: timed out",
                "--runtime NAME=VERSION",
            ),
            (
                "a low-level runtime that was given",
                |given| {
                    given.runtime().low_level = Lookup::failed("runc", "timed out");
                    given.low_level = Some("runc=1.3.6,crun=1.21");
                },
                Fine,
                "containerd 2.1.4 with runc 1.3.6, crun 1.21",
                "",
            ),
            (
                "another one than the kubelet's",
                |given| {
                    given
                        .config(json!({ "containerRuntimeEndpoint": "unix:///run/crio/crio.sock" }))
                },
                Warn,
                "unix:///run/crio/crio.sock",
                "--runtime-endpoint unix:///run/crio/crio.sock",
            ),
            (
                "the same by another path",
                |given| {
                    let endpoint = "unix:///var/run/containerd/containerd.sock";
                    given.config(json!({ "containerRuntimeEndpoint": endpoint }));
                },
                Fine,
                "containerd",
                "",
            ),
        ],
    );
}
