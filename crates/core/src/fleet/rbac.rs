//! The manifests of a service account that may run `kq fleet`: the rights that its requests need, and no others.
//!
//! The pods of a run have no token, so that the command in them needs no rights. `tests/suite/cli/fleet_api.rs` compares the
//! rules with the requests that a server sees.

use serde_json::{Value, json};

/// What the account does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetUse {
    /// `fleet run`, and `collect`: they read the answers of pods in their logs.
    Pods,
    /// `fleet run --api-only`, and `collect --api-only`
    ApiOnly,
    /// `fleet apply`; with `cordon`, it marks nodes as unschedulable.
    Apply { cordon: bool },
    /// `fleet clean`
    Clean,
    /// `fleet what-if`: it reads PodDisruptionBudgets.
    Rollout,
}

/// The name and the namespace of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbacOptions {
    /// The name of all objects.
    pub name: String,
    /// The namespace of the account and of the pods.
    pub namespace: String,
}

impl RbacOptions {
    /// Returns the manifests, in an order in which they can be created.
    pub fn manifests(&self, uses: FleetUse) -> Vec<Value> {
        let rule_of = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
        let rule = |resource: &str, verbs: &[&str]| rule_of("", resource, verbs);
        let (of_cluster, of_namespace) = match uses {
            FleetUse::Pods | FleetUse::Apply { .. } => (
                vec![match uses {
                    FleetUse::Apply { cordon: true } => rule("nodes", &["get", "list", "patch"]),
                    _ => rule("nodes", &["list"]),
                }],
                vec![
                    rule("pods", &["create", "delete", "get", "list"]),
                    rule("pods/log", &["get"]),
                ],
            ),
            FleetUse::ApiOnly => {
                (vec![rule("nodes", &["get", "list"]), rule("pods", &["list"])], Vec::new())
            }
            FleetUse::Clean => (Vec::new(), vec![rule("pods", &["delete", "list"])]),
            FleetUse::Rollout => {
                (vec![rule_of("policy", "poddisruptionbudgets", &["list"])], Vec::new())
            }
        };
        let mut manifests = vec![self.object("v1", "ServiceAccount", true, json!({}))];
        if !of_cluster.is_empty() {
            manifests.extend(self.role("Cluster", of_cluster));
        }
        if !of_namespace.is_empty() {
            manifests.extend(self.role("", of_namespace));
        }
        manifests
    }

    /// Returns a role and its binding to the account.
    fn role(&self, scope: &str, rules: Vec<Value>) -> [Value; 2] {
        const GROUP: &str = "rbac.authorization.k8s.io";
        let version = format!("{GROUP}/v1");
        let (role, is_namespaced) = (format!("{scope}Role"), scope.is_empty());
        let binding = json!({
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": self.name},
            "subjects": [
                {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace},
            ],
        });
        [
            self.object(&version, &role, is_namespaced, json!({"rules": rules})),
            self.object(&version, &format!("{role}Binding"), is_namespaced, binding),
        ]
    }

    fn object(&self, version: &str, kind: &str, is_namespaced: bool, rest: Value) -> Value {
        let mut object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": self.name, "labels": {"app.kubernetes.io/name": "kq"}},
        });
        if is_namespaced {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        if let (Value::Object(all), Value::Object(rest)) = (&mut object, rest) {
            all.extend(rest);
        }
        object
    }
}
