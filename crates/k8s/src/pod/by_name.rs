//! Containers and their statuses by name.

use super::{Container, ContainerStatus};
use std::collections::BTreeMap;

/// What has a name that is unique in its pod.
pub trait Named {
    /// Returns the name.
    fn name(&self) -> &str;
}

impl Named for Container {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for ContainerStatus {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Containers or statuses by name, for looking up many: a pod may have tens of thousands of both, so that a search
/// for each would take their product.
#[derive(Clone, Debug)]
pub struct ByName<'p, T>(Names<'p, T>);

#[derive(Clone, Debug)]
enum Names<'p, T> {
    /// Nearly all pods have few, and a search among those takes less than a map.
    Few(Vec<&'p T>),
    Many(BTreeMap<&'p str, &'p T>),
}

/// So many are searched one by one.
const FEW: usize = 16;

impl<'p, T: Named> ByName<'p, T> {
    /// Of several with one name, the first counts.
    pub fn first_of(items: impl DoubleEndedIterator<Item = &'p T>) -> Self {
        Self::of(items.collect())
    }

    /// Of several with one name, the last counts.
    pub fn last_of(items: impl DoubleEndedIterator<Item = &'p T>) -> Self {
        Self::of(items.rev().collect())
    }

    fn of(items: Vec<&'p T>) -> Self {
        if items.len() <= FEW {
            return Self(Names::Few(items));
        }
        // Those that come later overwrite, so that the first one stays.
        Self(Names::Many(items.into_iter().rev().map(|item| (item.name(), item)).collect()))
    }

    /// Returns the one with a name.
    pub fn get(&self, name: &str) -> Option<&'p T> {
        match &self.0 {
            Names::Few(items) => items.iter().find(|item| item.name() == name).copied(),
            Names::Many(items) => items.get(name).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_name_the_first_or_the_last_counts() {
        for count in [3, 40] {
            let named = |at: usize| Container {
                name: format!("c{}", at % (count - 1)),
                restart_policy: Some(at.to_string()),
                ..Container::default()
            };
            let all: Vec<Container> = (0..count).map(named).collect();
            let place = |found: Option<&Container>| found.and_then(|it| it.restart_policy.clone());
            let (first, last) = (ByName::first_of(all.iter()), ByName::last_of(all.iter()));
            assert_eq!(place(first.get("c0")).as_deref(), Some("0"), "{count}");
            assert_eq!(place(last.get("c0")), Some((count - 1).to_string()), "{count}");
            assert_eq!(place(first.get("c1")).as_deref(), Some("1"), "{count}");
            assert!(first.get("c").is_none());
        }
    }
}
