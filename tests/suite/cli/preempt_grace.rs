//! `kq preempt explain`: how long a victim gets to stop, and how long the kubelet waits for it.

use super::{folder_with, kq};
use serde_json::{Value, json};

#[test]
fn a_grace_that_is_none_or_beyond_all_measure_is_taken_as_the_kubelet_takes_it() {
    let list = json!({"cpu": "1", "memory": "1Gi", "pods": "10"});
    let node = json!({"kind": "Node", "metadata": {"name": "n"},
                      "status": {"capacity": list, "allocatable": list}});
    let pod = |name: &str, grace: Value, priority: i32| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name},
               "spec": {"nodeName": "n", "priority": priority, "terminationGracePeriodSeconds": grace,
                        "containers": [{"name": "c", "image": "i",
                                        "resources": {"requests": {"cpu": "1"}}}]},
               "status": {"phase": "Running"}})
    };
    // What the pod asks for, what its deletion gave it, what it gets, how long the kubelet waits.
    for (asked, of_deletion, gets, waits) in [
        (json!(-5), Value::Null, 1, 10),
        (json!(0), Value::Null, 1, 10),
        (json!(1), Value::Null, 1, 10),
        (json!(7), Value::Null, 7, 10),
        (json!(31), Value::Null, 31, 46),
        (Value::Null, Value::Null, 30, 45),
        (json!(i64::MAX), Value::Null, i64::MAX, 10),
        (json!(i64::MIN), Value::Null, 1, i64::MAX / 2 + 1),
        (json!(600), json!(5), 5, 900),
        (json!(5), json!(600), 600, 10),
        (json!(5), json!(0), 5, 10),
    ] {
        let mut victim = pod("victim", asked.clone(), 0);
        victim["metadata"]["deletionGracePeriodSeconds"] = of_deletion;
        let folder = folder_with(&[
            ("node.json", node.to_string()),
            ("pods.json", victim.to_string()),
            ("new.json", pod("new", json!(1), 2_000_000_000).to_string()),
        ]);
        let line = "preempt explain new.json --pods pods.json --node-file node.json";
        let answer = kq(line).within(folder.path()).json();
        let victim = &answer["victims"][0];
        let told = (&victim["gracePeriodSeconds"], &victim["waitsSeconds"]);
        assert_eq!(told, (&json!(gets), &json!(waits)), "{asked}");
    }
}
