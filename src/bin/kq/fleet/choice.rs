//! The nodes and the requests that flags of `kq fleet run` name.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::action::fleet::Sample;
use kq::edge::input::{read_input, shown};
use kq::k8s::quantity::Quantity;
use std::collections::BTreeMap;

/// Reads a number of nodes, or a part of them in percent.
pub fn parse_sample(text: &str) -> Result<Sample, String> {
    let expected = || "expected a number of nodes, or 1% to 100%".to_owned();
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or_else(expected);
    match text.strip_suffix('%') {
        None => number(text).map(Sample::Nodes),
        Some(percent) => match number(percent)? {
            percent @ 1..=100 => Ok(Sample::Percent(percent)),
            _ => Err(expected()),
        },
    }
}

/// Reads requests of a container, such as `cpu=10m,memory=32Mi`.
pub fn parse_requests(text: &str) -> Result<BTreeMap<String, String>, String> {
    let request = |pair: &str| {
        let (name, amount) = pair.split_once('=').ok_or("expected RESOURCE=AMOUNT")?;
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") {
            return Err(format!("{name:?}: expected cpu, memory or ephemeral-storage"));
        }
        let quantity: Quantity = amount.parse().map_err(|error| format!("{name}: {error}"))?;
        match quantity.sign() < 0 {
            false => Ok((name.to_owned(), amount.to_owned())),
            true => Err(format!("{name}: {amount} is negative")),
        }
    };
    text.split(',').map(request).collect()
}

/// Reads the names of nodes from a file: apart by white space or commas, as from `kubectl get nodes -o name`. The rest of a
/// line after # is a comment.
pub fn read_names(path: &str) -> Result<Vec<String>, Failure> {
    let content = read_input(path).map_err(Failure::missing)?;
    let text = str::from_utf8(&content)
        .map_err(|_| Failure::usage(anyhow!("{}: not text in UTF-8", shown(path))))?;
    let names = names(text);
    // Without names, all nodes would be chosen.
    match names.is_empty() {
        false => Ok(names),
        true => Err(Failure::usage(anyhow!("{}: no names of nodes", shown(path)))),
    }
}

fn names(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split([' ', '\t', ',']));
    let words = words.map(|word| word.trim_start_matches("node/")).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_numbers_or_parts() {
        assert_eq!(parse_sample("12"), Ok(Sample::Nodes(12)));
        assert_eq!(parse_sample("5%"), Ok(Sample::Percent(5)));
        for text in ["0", "0%", "101%", "-1", "5 %", "%", "", "1.5%"] {
            assert!(parse_sample(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requests_are_quantities() {
        let requests = parse_requests("cpu=10m,memory=32Mi").expect("requests");
        assert_eq!(requests.len(), 2);
        for text in ["cpu", "cpu=", "cpu=10x", "cpu=-1", "gpu=1", "cpu=1,,"] {
            assert!(parse_requests(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_apart_by_what_programs_write() {
        let text = "node/a\nnode/b c,d # not e\r\n\n# f\n";
        assert_eq!(names(text), ["a", "b", "c", "d"]);
        assert!(names("# a\n\n").is_empty());
    }
}
