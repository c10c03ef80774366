//! What a pod takes and what a node has, in the units in which they are compared.

use super::extended::is_scalar_resource;
use crate::k8s::pod::{ResourceList, ResourceName};
use std::collections::BTreeMap;

/// Amounts as the scheduler's code compares them (`framework.Resource`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Thousandths of a CPU.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// How many pods; of a node only.
    pub pods: i64,
    /// Whole units of huge pages, extended and other scalar resources.
    pub scalars: BTreeMap<ResourceName, i64>,
}

impl Amounts {
    /// Returns amounts in these units, each rounded up. Resources that the filter does not know are left
    /// out.
    pub fn of(list: &ResourceList) -> Self {
        let mut amounts = Self::default();
        for (name, amount) in list.iter() {
            match name {
                ResourceName::Cpu => amounts.milli_cpu = amount.milli_value(),
                ResourceName::Memory => amounts.memory = amount.value(),
                ResourceName::Other(text) => match &**text {
                    "ephemeral-storage" => amounts.ephemeral_storage = amount.value(),
                    "pods" => amounts.pods = amount.value(),
                    other if is_scalar_resource(other) => {
                        amounts.scalars.insert(name.clone(), amount.value());
                    }
                    _ => {}
                },
            }
        }
        amounts
    }

    /// Adds what a pod takes; overflow wraps, as in the kubelet. Pods are counted, not added.
    pub fn add(&mut self, more: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_add(more.milli_cpu);
        self.memory = self.memory.wrapping_add(more.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_add(more.ephemeral_storage);
        for (name, amount) in &more.scalars {
            match self.scalars.get_mut(name) {
                Some(sum) => *sum = sum.wrapping_add(*amount),
                None => {
                    self.scalars.insert(name.clone(), *amount);
                }
            }
        }
    }

    /// Takes away what a pod took.
    pub fn subtract(&mut self, less: &Self) {
        self.milli_cpu = self.milli_cpu.wrapping_sub(less.milli_cpu);
        self.memory = self.memory.wrapping_sub(less.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_sub(less.ephemeral_storage);
        for (name, amount) in &less.scalars {
            if let Some(sum) = self.scalars.get_mut(name) {
                *sum = sum.wrapping_sub(*amount);
            }
        }
    }

    /// Returns the amount of any resource that is compared; 0 for one that is not named.
    pub fn get(&self, name: &ResourceName) -> i64 {
        match name {
            ResourceName::Cpu => self.milli_cpu,
            ResourceName::Memory => self.memory,
            ResourceName::Other(text) => match &**text {
                "ephemeral-storage" => self.ephemeral_storage,
                "pods" => self.pods,
                _ => self.scalar(name),
            },
        }
    }

    /// Returns the amount of a scalar resource; 0 for one that is not named.
    pub fn scalar(&self, name: &ResourceName) -> i64 {
        self.scalars.get(name).copied().unwrap_or(0)
    }

    /// Tells whether a pod takes nothing.
    pub fn is_nothing(&self) -> bool {
        self.milli_cpu == 0
            && self.memory == 0
            && self.ephemeral_storage == 0
            && self.scalars.is_empty()
    }
}
