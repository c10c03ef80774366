//! Why a value of a flag is refused: the `Set` of each type, in `pflag`, `component-base/cli/flag`,
//! `component-base/logs/api/v1/pflags.go` and `pkg/util/flag/flags.go`.

use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::parse_flag;
use kq_k8s::go_text::{NumError, NumProblem, parse_bool, quote};
use kq_k8s::quantity::Quantity;
use kq_k8s::validation::{label_value_errors, qualified_name_errors};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeSet;

/// Returns why a flag of a type cannot take a value.
pub fn value_error(
    name: &str,
    value_type: &str,
    value: &str,
    version: KubeletVersion,
) -> Option<String> {
    check(name, value_type, value, version).err()
}

fn check(name: &str, value_type: &str, value: &str, version: KubeletVersion) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match value_type {
        "bool" => parse_bool(value).map(drop).map_err(|error| text(&error)),
        "int" | "int64" => parse_int(value, 64),
        "int32" => parse_int(value, 32),
        "Level" => parse_uint(value),
        "duration" => value.parse::<GoDuration>().map(drop).map_err(|error| text(&error)),
        "quantity" => value.parse::<Quantity>().map(drop).map_err(|error| text(&error)),
        "ip" if value.is_empty() || is_address(value) => Ok(()),
        "ip" => Err(format!("{} is not a valid IP address", quote(value))),
        "mapStringBool" => parse_flag(value).map(drop).map_err(|error| text(&error)),
        "mapStringString" if name == "node-labels" => Ok(()),
        "mapStringString" => {
            let sign = if matches!(name, "eviction-hard" | "eviction-soft") { '<' } else { '=' };
            let whole = name == "cpu-manager-policy-options";
            let mut pairs = value.split(',').filter(|pair| !pair.is_empty());
            let is_pair = |pair: &str| pair.contains(sign);
            match if whole { is_pair(value) } else { pairs.all(is_pair) } {
                true => Ok(()),
                false => Err(format!("malformed pair, expect string{sign}string")),
            }
        }
        "colonSeparatedMultimapStringString" => {
            let mut pairs = value.split(',').filter(|pair| !pair.is_empty());
            match pairs.all(|pair| pair.contains(':')) {
                true => Ok(()),
                false => Err("malformed pair, expect string:string".to_owned()),
            }
        }
        "reserved-memory" if value.is_empty() => Ok(()),
        "reserved-memory" => value.split(';').try_for_each(|text| reservation(text, version)),
        "[]v1.Taint" if value.is_empty() => Ok(()),
        "[]v1.Taint" => taints(value, version),
        "pattern=N,..." => value.split(',').filter(|it| !it.is_empty()).try_for_each(pattern),
        _ => Ok(()),
    }
}

/// Reads an address as `ParseIPSloppy` does: with zeros in front of its numbers.
fn is_address(text: &str) -> bool {
    if text.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u32>().is_ok_and(|number| number < 256)
    };
    parts.len() == 4 && parts.iter().all(is_number)
}

/// Reads a whole number as `strconv.ParseInt` with the base 0 does.
fn parse_int(text: &str, bits: u32) -> Result<(), String> {
    let error = |problem| NumError { function: "ParseInt", text: text.to_owned(), problem };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    let (digits, base) = match lower.as_bytes() {
        [b'0', b'x', ..] => (lower.get(2..).unwrap_or_default(), 16),
        [b'0', b'b', ..] => (lower.get(2..).unwrap_or_default(), 2),
        [b'0', b'o', ..] => (lower.get(2..).unwrap_or_default(), 8),
        [b'0', _, ..] => (lower.get(1..).unwrap_or_default(), 8),
        _ => (lower.as_str(), 10),
    };
    // An underscore stands between digits, or between the base and a digit.
    let has_base = digits.len() < lower.len();
    let is_separated =
        !digits.ends_with('_') && !digits.contains("__") && (has_base || !digits.starts_with('_'));
    let plain = digits.replace('_', "");
    let is_number =
        is_separated && !plain.is_empty() && plain.chars().all(|digit| digit.is_digit(base));
    if !is_number {
        return Err(error(NumProblem::Syntax).to_string());
    }
    let limit = 1_i128 << (bits - 1);
    let magnitude = i128::from_str_radix(&plain, base).unwrap_or(i128::MAX);
    let is_small = if text.starts_with('-') { magnitude <= limit } else { magnitude < limit };
    if is_small { Ok(()) } else { Err(error(NumProblem::Range).to_string()) }
}

/// Reads a whole number as `strconv.ParseUint` with the base 10 and 31 bits does.
fn parse_uint(text: &str) -> Result<(), String> {
    let error = |problem| NumError { function: "ParseUint", text: text.to_owned(), problem };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error(NumProblem::Syntax).to_string());
    }
    match text.parse::<u64>() {
        Ok(number) if number < 1 << 31 => Ok(()),
        _ => Err(error(NumProblem::Range).to_string()),
    }
}

/// Reads a part of `--vmodule`.
fn pattern(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split('=').collect();
    match parts[..] {
        [name, level] if !name.is_empty() && !level.is_empty() => parse_uint(level)
            .map_err(|error| format!("parsing verbosity in {}: {error}", quote(text))),
        _ => Err(format!("{} does not have the pattern=N format", quote(text))),
    }
}

/// Reads one NUMA node of `--reserved-memory` (`ReservedMemoryVar.Set`).
fn reservation(text: &str, version: KubeletVersion) -> Result<(), String> {
    let is_spelled = version.spells_reserved_memory();
    let parts: Vec<&str> = text.split(':').collect();
    let [node, limits] = parts[..] else {
        return Err(format!(
            "the reserved memory has incorrect format, expected \
             numaNodeID:type=quantity[,type=quantity...], got {text}"
        ));
    };
    if kq_k8s::go_text::atoi(node).is_err() {
        let expected = if is_spelled { "expected" } else { "exptected" };
        return Err(format!("failed to convert the NUMA node ID, {expected} integer, got {node}"));
    }
    limits.split(',').try_for_each(|limit| {
        let parts: Vec<&str> = limit.split('=').collect();
        let [name, amount] = parts[..] else {
            let quantity = if is_spelled { "quantity" } else { "quantatity" };
            return Err(format!(
                "the reserved limit has incorrect value, expected type={quantity}, got {limit}"
            ));
        };
        if name != "memory" && !name.starts_with("hugepages-") {
            return Err(format!("memory type conversion error, unknown type: {}", quote(name)));
        }
        match amount.parse::<Quantity>() {
            Ok(_) => Ok(()),
            Err(_) if is_spelled => Err(format!("failed to parse the quantity: {amount}")),
            Err(_) => {
                Err(format!("failed to parse the quantatity, expected quantatity, got {amount}"))
            }
        }
    })
}

/// Reads `--register-with-taints` (`ParseTaints` in `pkg/util/taints/taints.go`).
fn taints(text: &str, version: KubeletVersion) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for taint in text.split(',') {
        if let Some(removed) = taint.strip_suffix('-') {
            parse_taint(removed, version)?;
            continue;
        }
        let (key, value, effect) = parse_taint(taint, version)?;
        if effect.is_empty() {
            return Err(format!("invalid taint spec: {taint}"));
        }
        if !seen.insert((key, effect)) {
            return Err(format!(
                "duplicated taints with the same key and effect: {{{key} {value} {effect} <nil>}}"
            ));
        }
    }
    Ok(())
}

/// Reads a taint: key, value, effect.
pub(super) fn parse_taint(
    text: &str,
    version: KubeletVersion,
) -> Result<(&str, &str, &str), String> {
    let invalid = || format!("invalid taint spec: {text}");
    let with = |errors: Vec<String>| format!("{}, {}", invalid(), errors.join("; "));
    let parts: Vec<&str> = text.split(':').collect();
    let (key, value, effect) = match parts[..] {
        [key] => (key, "", ""),
        [pair, effect] => {
            if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
                return Err(format!("invalid taint effect: {effect}, unsupported taint effect"));
            }
            let pair: Vec<&str> = pair.split('=').collect();
            match pair[..] {
                [key] => (key, "", effect),
                [key, value] => {
                    let errors = label_value_errors(value, version);
                    if !errors.is_empty() {
                        return Err(with(errors));
                    }
                    (key, value, effect)
                }
                _ => return Err(invalid()),
            }
        }
        _ => return Err(invalid()),
    };
    let errors = qualified_name_errors(key, version);
    if errors.is_empty() { Ok((key, value, effect)) } else { Err(with(errors)) }
}
