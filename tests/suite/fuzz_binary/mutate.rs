//! Changes to files that were sound: of the text, and of the values in it.

use serde_json::{Map, Value};

/// No file becomes larger: the bounds are those of input below 1 MB.
pub const LARGEST: usize = 1_000_000;

/// How long strings become that are meant to be too long: longer than a table's column can be.
const LONG: usize = 70_000;

/// What stands in a value for a text that no JSON writer would write, until the value is written.
const RAW: &str = "@@raw";

/// Numbers that look random, the same for the same seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins a series.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below another one; 0 below 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = (end as u64).max(1);
        usize::try_from(self.next() % end).expect("it is below a usize")
    }

    /// Returns true with a probability in percent.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of several.
    pub fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Returns a changed copy of a file. `others` are files from which values are taken.
pub fn mutated(random: &mut Random, file: &[u8], others: &[Value]) -> Vec<u8> {
    let changes = *random.one(&[0, 1, 1, 1, 1, 2, 4]);
    let value = std::str::from_utf8(file).ok().and_then(parsed);
    let mut bytes = match value {
        Some(mut value) if !random.percent(15) => {
            for _ in 0..changes {
                change(random, &mut value, others, 0);
            }
            written(random, &value)
        }
        _ => file.to_vec(),
    };
    if random.percent(10) {
        for _ in 0..=random.below(4) {
            change_bytes(random, &mut bytes);
        }
    }
    bytes.truncate(LARGEST);
    bytes
}

/// Reads JSON, and YAML of one document.
pub fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let read = kq_k8s::yaml::read(text).ok()?.value;
        read.is_object().then_some(read)
    })
}

/// Writes a value, with the raw texts in it as they are.
fn written(random: &mut Random, value: &Value) -> Vec<u8> {
    let mut text = match random.percent(50) {
        true => serde_json::to_string(value),
        false => serde_json::to_string_pretty(value),
    }
    .expect("a value can be written");
    for (at, raw) in raws().iter().enumerate() {
        text = text.replace(&format!("\"{RAW}{at}\""), raw);
    }
    text.into_bytes()
}

/// Texts that a reader of JSON or YAML must stand.
fn raws() -> Vec<String> {
    vec![
        "[".repeat(5_000) + &"]".repeat(5_000),
        "{\"a\":".repeat(5_000) + "1" + &"}".repeat(5_000),
        "9".repeat(5_000),
        format!("0.{}1", "0".repeat(5_000)),
        "1e400".to_owned(),
        "-1e400".to_owned(),
        "1e-400".to_owned(),
        "123456789012345678901234567890".to_owned(),
        "\"\\ud800\"".to_owned(),
        "\"\\u0000\"".to_owned(),
        "{\"a\":1,\"a\":2}".to_owned(),
        format!("[{}null]", "[],".repeat(100_000)),
        format!("[{}null]", "{},".repeat(100_000)),
        format!("[{}0]", "1,".repeat(200_000)),
        format!("[{}\"\"]", "\"a\",".repeat(100_000)),
        format!(
            "{{{}\"\":1}}",
            (0..50_000).fold(String::new(), |all, at| all + &format!("\"k{at}\":{at},"))
        ),
    ]
}

/// Changes one of the values within a value.
fn change(random: &mut Random, value: &mut Value, others: &[Value], depth: usize) {
    let count = count(value);
    let at = random.below(count);
    let Some(place) = place(value, at) else { return };
    // A text can be a file of its own.
    if let Value::String(text) = place
        && depth < 3
        && let Some(mut inner) =
            serde_json::from_str::<Value>(text).ok().filter(|it| it.is_object())
        && random.percent(80)
    {
        change(random, &mut inner, others, depth + 1);
        *text = inner.to_string();
        return;
    }
    match random.below(20) {
        0 => delete(random, place),
        1 => duplicate(random, place),
        2 | 3 => *place = odd(random),
        4 => *place = Value::String(format!("{RAW}{}", random.below(raws().len()))),
        5 => {
            let other = random.one(others).clone();
            let at = random.below(self::count(&other));
            let mut other = other;
            if let Some(taken) = self::place(&mut other, at) {
                *place = taken.take();
            }
        }
        6 => {
            let whole = value.clone();
            let mut whole = whole;
            let from = random.below(count);
            if let (Some(from), Some(to)) = (self::place(&mut whole, from), self::place(value, at))
            {
                *to = from.take();
            }
        }
        _ => tweak(random, place),
    }
}

/// Returns how many values there are in a value, with itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns a value within a value, by its number in the order of the text.
fn place(value: &mut Value, mut at: usize) -> Option<&mut Value> {
    if at == 0 {
        return Some(value);
    }
    at -= 1;
    let inner: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(fields) => Box::new(fields.values_mut()),
        _ => return None,
    };
    for inner in inner {
        let own = count(inner);
        if at < own {
            return place(inner, at);
        }
        at -= own;
    }
    None
}

fn delete(random: &mut Random, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let key = fields.keys().nth(at).cloned().expect("it is below their number");
            fields.remove(&key);
        }
        other => *other = Value::Null,
    }
}

/// Repeats what is in a list or a map, a few times or as often as there is room.
fn duplicate(random: &mut Random, value: &mut Value) {
    let times = *random.one(&[1, 2, 10, 1_000, 10_000, 60_000]);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let one = items[random.below(items.len())].clone();
            let room = LARGEST / one.to_string().len().max(1);
            let renamed = random.percent(70);
            for at in 0..times.min(room) {
                let mut one = one.clone();
                if renamed {
                    rename(&mut one, at);
                }
                items.push(one);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let (key, one) = fields.iter().nth(at).expect("it is below their number");
            let (key, one) = (key.clone(), one.clone());
            let room = LARGEST / (one.to_string().len() + key.len() + 8);
            fields.extend((0..times.min(room)).map(|at| (format!("{key}{at}"), one.clone())));
        }
        _ => {}
    }
}

/// Gives a thing names of its own, so that it is another one.
fn rename(value: &mut Value, at: usize) {
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        match value {
            Value::String(text) if matches!(key.as_str(), "name" | "uid" | "id" | "podUID") => {
                *text = format!("{text}{at}");
            }
            Value::Object(_) if key == "metadata" => rename(value, at),
            _ => {}
        }
    }
}

/// Changes a value a little.
fn tweak(random: &mut Random, value: &mut Value) {
    match value {
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or_default();
            *value = match random.below(6) {
                0 => number.wrapping_neg().into(),
                1 => number.wrapping_add(1).into(),
                2 => number.wrapping_mul(1_000_003).into(),
                3 => Value::from(number.to_string()),
                4 => (1_u64 << random.below(64)).into(),
                _ => Value::from(number as f64 + 0.5),
            };
        }
        Value::String(text) => {
            let letters: Vec<char> = text.chars().collect();
            let at = random.below(letters.len());
            let mut letters = letters;
            match random.below(6) {
                0 if !letters.is_empty() => {
                    letters[at] = *random.one(&['/', '-', '0', 'Z', ' ', '\n', '\u{202e}', '"'])
                }
                1 if !letters.is_empty() => drop(letters.remove(at)),
                2 => letters.insert(at, *random.one(&['.', '%', '$', ':', '\u{1b}', '{', 'é'])),
                3 => letters = letters.repeat(2),
                4 => letters.truncate(at),
                _ => letters.reverse(),
            }
            *text = letters.into_iter().collect();
        }
        Value::Bool(is) => *is = !*is,
        Value::Null => *value = odd(random),
        Value::Array(items) => items.reverse(),
        Value::Object(fields) => {
            // Two values change places.
            let (one, other) = (random.below(fields.len()), random.below(fields.len()));
            let keys: Vec<String> = fields.keys().cloned().collect();
            if let (Some(one), Some(other)) = (keys.get(one), keys.get(other)) {
                let taken = fields.insert(one.clone(), Value::Null).unwrap_or_default();
                let taken = fields.insert(other.clone(), taken).unwrap_or_default();
                fields.insert(one.clone(), taken);
            }
        }
    }
}

/// Returns an unexpected value.
pub fn odd(random: &mut Random) -> Value {
    match random.below(24) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => 0.into(),
        3 => (-1).into(),
        4 => i64::MAX.into(),
        5 => i64::MIN.into(),
        6 => u64::MAX.into(),
        7 => 1e308.into(),
        8 => Value::from(0.1),
        9 => "".into(),
        10 => Value::Array(Vec::new()),
        11 => Value::Object(Map::new()),
        12 => "a".repeat(LONG).into(),
        13 => "漢".repeat(LONG / 3).into(),
        14 => format!("\u{1b}[2J\nhint: {}\u{202e}\u{9b}", "x".repeat(random.below(80))).into(),
        15 => "../".repeat(LONG / 3).into(),
        16 => format!("{}Ei", "9".repeat(*random.one(&[10, 30, 1_000, 20_000]))).into(),
        17 => (*random.one(&[
            "1e999999999",
            "-1e-999999999",
            "1n",
            "0.0000000001",
            "1e18446744073709551616",
        ]))
        .into(),
        18 => {
            (*random.one(&["9223372036854775807", "-9223372036854775808", "18446744073709551616"]))
                .into()
        }
        19 => (*random.one(&[
            "9999-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
            "1h1h1h",
            "2562047h47m16.854775807s",
            "-1s",
        ]))
        .into(),
        20 => {
            (*random.one(&["0-4294967295", "0-2147483647", "1,3,5-7", "4294967296", "0-1000000"]))
                .into()
        }
        21 => (*random.one(&["v1.99.0", "1.36", "v0.0.0", "v18446744073709551615.1.1"])).into(),
        22 => "$(A)".repeat(10_000).into(),
        _ => "\u{0}".into(),
    }
}

/// Changes a text without knowing what is in it.
fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    let (one, other) = (random.below(bytes.len()), random.below(bytes.len()));
    let (begin, end) = (one.min(other), one.max(other));
    match random.below(6) {
        0 if !bytes.is_empty() => bytes[one] ^= 1 << random.below(8),
        1 => bytes.truncate(one),
        2 => drop(bytes.drain(begin..end.min(begin + 2_000))),
        3 => {
            let piece = bytes[begin..end].to_vec();
            let room = LARGEST.saturating_sub(bytes.len());
            let times = (room / piece.len().max(1)).min(*random.one(&[1, 3, 100, 10_000]));
            let pieces = piece.repeat(times);
            drop(bytes.splice(begin..begin, pieces));
        }
        4 => {
            let all: [&[u8]; 11] = [
                b"\0",
                b"\xff\xfe",
                b"\n---\n",
                b"&a ",
                b"*a",
                b"<<: ",
                b"!!binary ",
                b"\t",
                b"\"",
                b"{",
                b"]",
            ];
            let odd = all[random.below(all.len())];
            drop(bytes.splice(one..one, odd.iter().copied()));
        }
        _ if bytes.len() > 1 => bytes.swap(begin, end),
        _ => {}
    }
}

#[test]
fn a_seed_gives_the_same_file_again() {
    let file = br#"{"a": [1, {"b": "text"}], "c": {"d": true}}"#;
    let others = [parsed("[1, 2, 3]").expect("JSON")];
    let of = |seed| mutated(&mut Random::new(seed), file, &others);
    assert_eq!(of(7), of(7));
    let different = (0..50).filter(|seed| of(*seed) != file).count();
    assert!(different > 30, "{different} of 50 are changed");
    assert!((0..200).all(|seed| of(seed).len() <= LARGEST));
}
