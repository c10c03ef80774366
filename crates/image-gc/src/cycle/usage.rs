//! The usage of the image file system, and the bytes to free.
//!
//! Rules: `GarbageCollect` and `formatSize` in `pkg/kubelet/images/image_gc_manager.go`, read in 1.36.
//! The kubelet's sums are of 64 bits and wrap around, and so do these.

use crate::policy::ImageGcPolicy;
use serde::Serialize;

/// The image file system as the kubelet's statistics have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageFs {
    /// `None`: the statistics do not say.
    pub capacity: Option<u64>,
    /// `None`: the statistics do not say.
    pub available: Option<u64>,
}

/// How full it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// In bytes.
    pub capacity_bytes: i64,
    /// In bytes, not more than the capacity.
    pub available_bytes: i64,
    /// `100 - available x 100 / capacity`, the quotient cut off: so the usage is rounded up.
    pub percent: i64,
}

impl ImageFs {
    /// Returns the file system with that many bytes more available.
    pub(crate) fn with(self, freed: u64) -> Self {
        let available = self.available.map(|available| available.saturating_add(freed));
        Self { available, ..self }
    }

    /// Returns how full it is; `None`: the kubelet calls the capacity invalid.
    pub fn usage(self) -> Option<Usage> {
        // What is not known is zero to the kubelet, and both are signed.
        let [capacity, available] =
            [self.capacity, self.available].map(|bytes| bytes.unwrap_or_default() as i64);
        let available = available.min(capacity);
        (capacity != 0).then(|| Usage {
            capacity_bytes: capacity,
            available_bytes: available,
            percent: 100_i64.wrapping_sub(available.wrapping_mul(100).wrapping_div(capacity)),
        })
    }
}

impl Usage {
    /// Returns what has to be freed to come down to the low threshold; `None`: the high threshold is
    /// not reached. It can be zero or negative, and then one image still goes.
    pub fn amount_to_free(self, policy: &ImageGcPolicy) -> Option<i64> {
        (self.percent >= i64::from(policy.high_threshold_percent)).then(|| {
            self.capacity_bytes
                .wrapping_mul(100 - i64::from(policy.low_threshold_percent))
                .wrapping_div(100)
                .wrapping_sub(self.available_bytes)
        })
    }
}

/// Returns an amount of bytes as the kubelet's messages have it: `512 B`, `10.0 GiB`.
pub fn size_text(bytes: i64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, bits)| bytes >= 1 << bits) {
        // Both numbers are rounded as the kubelet rounds them: to the nearest that 53 bits can hold.
        Some((unit, bits)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << bits) as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::duration::GoDuration;

    fn policy(high: i32, low: i32) -> ImageGcPolicy {
        ImageGcPolicy {
            high_threshold_percent: high,
            low_threshold_percent: low,
            min_age: GoDuration(0),
            max_age: GoDuration(0),
        }
    }

    #[test]
    fn usage_is_rounded_up() {
        for (name, capacity, available, percent, amount) in [
            ("below", 1000, 151, 85, Some(49)),
            ("a byte below", 1000, 160, 84, None),
            ("full", 1000, 0, 100, Some(200)),
            ("more than there is", 1000, 2000, 0, None),
            ("at the low threshold", 100, 20, 80, None),
            // Half of an exbibyte, and yet: 100 x 2^59 is 2^61 in 64 bits.
            ("wraps", 1 << 60, 1 << 59, 98, Some((1 << 62) / 100 - (1 << 59))),
        ] {
            let fs = ImageFs { capacity: Some(capacity), available: Some(available) };
            let usage = fs.usage().expect("a capacity");
            assert_eq!(usage.percent, percent, "{name}");
            assert_eq!(usage.amount_to_free(&policy(85, 80)), amount, "{name}");
        }
        assert_eq!(ImageFs { capacity: Some(0), available: Some(7) }.usage(), None);
        assert_eq!(ImageFs { capacity: None, available: None }.usage(), None);
    }

    #[test]
    fn nothing_overflows() {
        for capacity in [1, 2, i64::MAX as u64, 1 << 63, u64::MAX] {
            // The last one is -2^61 to the kubelet, of which 100 are the smallest number there is.
            for available in [0, 1, i64::MAX as u64, 1 << 63, u64::MAX, 7 << 61] {
                let fs = ImageFs { capacity: Some(capacity), available: Some(available) };
                let usage = fs.usage().expect("a capacity");
                let _ = usage.amount_to_free(&policy(0, 0));
            }
        }
    }
}
