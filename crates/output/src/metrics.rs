//! Numbers of answers as OpenMetrics, which Prometheus and node_exporter's textfile collector read.

use crate::credentials::redact;
use crate::terminal::plain;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::atomic::AtomicU64;

/// The labels of a value, by name.
pub type Labels = Vec<(&'static str, String)>;

/// Metrics in the order in which they were added. All are gauges: each answer is about one moment.
#[derive(Debug, Default)]
pub struct Metrics(Registry);

impl Metrics {
    /// Adds a metric with a value for each set of labels. What is unknown has no value.
    pub fn gauge<V: Into<f64>>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, Option<V>)>,
    ) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in values {
            if let Some(value) = value {
                let labels = labels.into_iter().map(|(name, text)| (name, label(&text))).collect();
                family.get_or_create(&labels).set(value.into());
            }
        }
        self.0.register(name, help, family);
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        // The values of a metric come in any order.
        let mut lines: Vec<String> = text.lines().map(without_empty_labels).collect();
        for values in lines.chunk_by_mut(|one, other| is_value(one) == is_value(other)) {
            if values.first().is_some_and(|line| is_value(line)) {
                values.sort_unstable();
            }
        }
        f.write_str(&lines.join("\n"))
    }
}

/// Returns a text as the value of a label: as tables have it, but for line ends, which the format has escapes for.
fn label(text: &str) -> String {
    let lines: Vec<String> = redact(text).split('\n').map(|line| plain(line.to_owned())).collect();
    lines.join("\n")
}

fn is_value(line: &str) -> bool {
    !line.starts_with('#')
}

fn without_empty_labels(line: &str) -> String {
    match line.split_once('{') {
        Some((name, rest)) if rest.starts_with('}') => format!("{name}{}", &rest[1..]),
        _ => line.to_owned(),
    }
}

/// Returns a count as metrics have it.
#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
pub fn number(count: i64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_strangers_are_escaped() {
        let mut metrics = Metrics::default();
        let label = "a\"b\\c\nd".to_owned();
        let hidden = "a\u{202e}b\u{7}\u{fffe}".to_owned();
        metrics.gauge("kq_one", "Some number", [(vec![("pod", label)], Some(1.5))]);
        metrics.gauge("kq_two", "Some number", [(vec![("pod", hidden)], Some(1.5))]);
        metrics.gauge("kq_none", "Another", [(vec![], None::<f64>)]);
        let text = metrics.to_string();
        assert!(
            text.contains("# TYPE kq_one gauge\nkq_one{pod=\"a\\\"b\\\\c\\nd\"} 1.5\n"),
            "{text}"
        );
        assert!(text.contains("kq_two{pod=\"a\\\\u{202e}b\\\\u{7}\\\\u{fffe}\"} 1.5\n"), "{text}");
        assert!(text.ends_with("# EOF") && !text.contains("kq_none 0"), "{text}");
    }
}
