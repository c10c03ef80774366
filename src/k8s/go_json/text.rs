//! The characters of a string (`unquoteBytes` in `decode.go`).

/// Returns what a string that has been checked says: escapes undone, and U+FFFD for each byte that is no
/// UTF-8 and for each half of a surrogate pair without the other.
pub(super) fn unquote(mut inside: &[u8]) -> String {
    let mut text = String::with_capacity(inside.len());
    while let Some(at) = inside.iter().position(|&byte| byte == b'\\') {
        push_lossy(&inside[..at], &mut text);
        inside = &inside[at + 1..];
        let Some((&code, rest)) = inside.split_first() else { break };
        inside = rest;
        match code {
            b'u' => inside = push_unit(inside, &mut text),
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            other => text.push(char::from(other)),
        }
    }
    push_lossy(inside, &mut text);
    text
}

fn push_lossy(bytes: &[u8], text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Adds the character of the digits after `\u`, and of a second half if it follows; returns the rest.
fn push_unit<'a>(inside: &'a [u8], text: &mut String) -> &'a [u8] {
    let (unit, rest) = hex(inside);
    let second = rest.strip_prefix(b"\\u").map(hex);
    if let Some((low, after)) = second
        && (0xd800..0xdc00).contains(&unit)
        && (0xdc00..0xe000).contains(&low)
    {
        let both = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        text.push(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
        return after;
    }
    text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

fn hex(bytes: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = bytes.split_at(bytes.len().min(4));
    let value = digits.iter().filter_map(|&digit| char::from(digit).to_digit(16));
    (value.fold(0, |value, digit| value * 16 + digit), rest)
}
