//! The CPU time that each leaf of a weight tree gets.

use kq_cgroup::cpu_share::{Node, cpu_shares};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let num_cpus = case["num_cpus"].as_u64().expect("a number of CPUs");
    let tree = nodes(&case["tree"]);
    let shares = cpu_shares(num_cpus, &tree);
    let leaf_cpus: Map<String, Value> =
        shares.leaves.into_iter().map(|leaf| (leaf.path, amount(&leaf.cpus))).collect();
    json!({"leaf_cpus": leaf_cpus, "total_cpus": amount(&shares.total)})
}

fn nodes(list: &Value) -> Vec<Node> {
    list.as_array().into_iter().flatten().map(node).collect()
}

fn node(value: &Value) -> Node {
    let name = value["name"].as_str().expect("a name");
    Node {
        cpu_quota_us: value["cpu_quota_us"].as_i64(),
        cpu_period_us: value["cpu_period_us"].as_i64(),
        cpu_hungry: value["cpu_hungry"].as_bool().unwrap_or(true),
        threads: value["threads"].as_u64(),
        children: nodes(&value["children"]),
        ..Node::new((), name, value["weight"].as_u64().expect("a weight"))
    }
}

/// Returns the fraction; the decimal is the recorder's, for reading.
fn amount(cpus: &BigRational) -> Value {
    let decimal = cpus.to_f64().expect("a fraction of a small number");
    json!({
        "exact": format!("{}/{}", cpus.numer(), cpus.denom()),
        "decimal": format!("{decimal:.6}"),
    })
}
