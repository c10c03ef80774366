//! The pods on a node, and their total requests.

use super::amounts::Amounts;
use super::filter::taken;
use super::placement::{HostPort, host_ports};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::{mem, ptr};

/// The active pods of a node, added up once, so that many questions about one node share the sum.
#[derive(Clone, Debug, Default)]
pub struct Occupancy<'p> {
    pods: Vec<&'p Pod>,
    /// The amounts of each.
    taken: Vec<Amounts>,
    used: Amounts,
    /// The pods with each port, in the order in which they were added.
    ports: BTreeMap<HostPort<'p>, Vec<&'p Pod>>,
}

impl<'p> Occupancy<'p> {
    pub fn of(pods: impl IntoIterator<Item = &'p Pod>, rules: &KubeletRules) -> Self {
        let mut occupancy = Self::default();
        for pod in pods {
            occupancy.add(pod, rules);
        }
        occupancy
    }

    /// Adds a pod.
    pub fn add(&mut self, pod: &'p Pod, rules: &KubeletRules) {
        self.add_counted(pod, taken(pod, rules));
    }

    /// Adds a pod whose amounts are known.
    pub(crate) fn add_counted(&mut self, pod: &'p Pod, taken: Amounts) {
        self.used.add(&taken);
        self.used.pods = self.used.pods.saturating_add(1);
        for port in host_ports(pod) {
            self.ports.entry(port).or_default().push(pod);
        }
        self.pods.push(pod);
        self.taken.push(taken);
    }

    /// Removes the pods at these indexes; the others stay in their order.
    pub fn remove(&mut self, places: &BTreeSet<usize>) {
        for place in places {
            let pod = self.pods.get(*place).copied();
            if let Some((pod, taken)) = pod.zip(self.taken.get_mut(*place).map(mem::take)) {
                self.subtract(pod, &taken);
            }
        }
        drop_places(&mut self.pods, places);
        drop_places(&mut self.taken, places);
    }

    /// Removes one pod, and returns its amounts.
    pub(crate) fn take_out(&mut self, pod: &Pod) -> Option<Amounts> {
        let place = self.pods.iter().position(|it| ptr::eq(*it, pod))?;
        let (pod, taken) = (self.pods.remove(place), self.taken.remove(place));
        self.subtract(pod, &taken);
        Some(taken)
    }

    /// Takes a pod out of the sums.
    fn subtract(&mut self, pod: &'p Pod, taken: &Amounts) {
        self.used.subtract(taken);
        self.used.pods = self.used.pods.saturating_sub(1);
        for port in host_ports(pod) {
            let Some(having) = self.ports.get_mut(&port) else { continue };
            having.retain(|it| !ptr::eq(*it, pod));
            if having.is_empty() {
                self.ports.remove(&port);
            }
        }
    }

    /// Returns the pods, in the order in which they were added.
    pub fn pods(&self) -> &[&'p Pod] {
        &self.pods
    }

    /// Returns the amounts of each, in the same order.
    pub fn taken(&self) -> &[Amounts] {
        &self.taken
    }

    /// Returns the total amounts; `pods` is the number of pods.
    pub fn used(&self) -> &Amounts {
        &self.used
    }

    /// Returns the taken ports with their pods; the last one was added last.
    pub fn ports(&self) -> &BTreeMap<HostPort<'p>, Vec<&'p Pod>> {
        &self.ports
    }
}

/// Removes the elements at these indexes from a list; the others stay in their order.
pub(crate) fn drop_places<T>(list: &mut Vec<T>, places: &BTreeSet<usize>) {
    let mut place = 0;
    list.retain(|_| {
        let stays = !places.contains(&place);
        place += 1;
        stays
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_conflict;
    use crate::objects;
    use kq_k8s::pod::ResourceName;
    use serde_json::json;

    fn with_port(name: &str, port: u16, requests: &str) -> Pod {
        let pod = objects::pod(name).requests(requests);
        pod.set("/spec/containers/0/ports", json!([{"hostPort": port}])).read()
    }

    #[test]
    fn what_is_taken_away_leaves_the_rest_as_if_it_had_never_been_there() {
        let rules = KubeletRules::default();
        let pods = [
            with_port("a", 80, "cpu=100m,example.com/gpu=1"),
            with_port("b", 81, "cpu=1u"),
            with_port("c", 80, "cpu=2,example.com/gpu=4"),
            with_port("d", 83, "cpu=3"),
        ];
        let gpu = ResourceName::from("example.com/gpu");
        for gone in [vec![], vec![0], vec![1, 3], vec![2, 0], vec![0, 1, 2, 3], vec![7]] {
            let mut left = Occupancy::of(&pods, &rules);
            left.remove(&gone.iter().copied().collect());
            let rest = pods.iter().enumerate().filter(|(place, _)| !gone.contains(place));
            let rest = Occupancy::of(rest.map(|(_, pod)| pod), &rules);
            assert_eq!((left.pods(), left.taken()), (rest.pods(), rest.taken()), "{gone:?}");
            assert_eq!(left.ports(), rest.ports(), "{gone:?}");
            let sums =
                |of: &Occupancy<'_>| (of.used().milli_cpu, of.used().scalar(&gpu), of.used().pods);
            assert_eq!(sums(&left), sums(&rest), "{gone:?}");
        }
    }

    #[test]
    fn a_port_of_two_pods_is_taken_until_both_are_gone() {
        let rules = KubeletRules::default();
        let [one, other, wants] = ["one", "two", "w"].map(|name| with_port(name, 80, "cpu=1"));
        let mut all = Occupancy::of([&one, &other], &rules);
        let who = |all: &Occupancy<'_>| {
            first_conflict(&wants, all, &rules).map(|it| it.1.metadata.name.clone())
        };
        assert_eq!(who(&all).as_deref(), Some("two"));
        all.remove(&BTreeSet::from([1]));
        assert_eq!(who(&all).as_deref(), Some("one"));
        all.remove(&BTreeSet::from([0]));
        assert_eq!(who(&all), None);
    }
}
