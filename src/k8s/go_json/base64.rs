//! Base64 as Go's `StdEncoding` reads it: padded, with line ends anywhere.

const PAD: u8 = b'=';

/// Decodes a text; fails with the position that Go names.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    while at < text.len() {
        if let Some(&quantum) = text[at..].first_chunk::<4>()
            && let [Some(a), Some(b), Some(c), Some(d)] = quantum.map(sextet)
        {
            push(&mut bytes, [a, b, c, d], 3);
            at += 4;
        } else {
            at = quantum(text, at, &mut bytes)?;
        }
    }
    Ok(bytes)
}

/// Decodes four symbols of which some are padding, or have line ends between them (`decodeQuantum`).
fn quantum(text: &[u8], mut at: usize, bytes: &mut Vec<u8>) -> Result<usize, usize> {
    let past_line_ends = |mut at: usize| {
        while let Some(b'\r' | b'\n') = text.get(at) {
            at += 1;
        }
        at
    };
    let mut symbols = [0; 4];
    let mut count = 0;
    while count < 4 {
        let Some(&symbol) = text.get(at) else {
            return if count == 0 { Ok(at) } else { Err(at - count) };
        };
        at += 1;
        match sextet(symbol) {
            Some(value) => {
                symbols[count] = value;
                count += 1;
            }
            None if symbol == b'\r' || symbol == b'\n' => {}
            None if symbol == PAD && count >= 2 => {
                if count == 2 {
                    at = past_line_ends(at);
                    match text.get(at) {
                        Some(&PAD) => at += 1,
                        Some(_) => return Err(at - 1),
                        None => return Err(text.len()),
                    }
                }
                at = past_line_ends(at);
                if at < text.len() {
                    return Err(at);
                }
                break;
            }
            None => return Err(at - 1),
        }
    }
    push(bytes, symbols, count - 1);
    Ok(at)
}

/// Adds the first bytes of four symbols.
fn push(bytes: &mut Vec<u8>, [a, b, c, d]: [u8; 4], count: usize) {
    let three = [(a << 2) | (b >> 4), (b << 4) | (c >> 2), (c << 6) | d];
    bytes.extend_from_slice(&three[..count]);
}

const fn sextet_of(symbol: u8) -> u8 {
    match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => NONE,
    }
}

const NONE: u8 = 0xff;

const SEXTETS: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut symbol = 0;
    while symbol < 256 {
        table[symbol] = sextet_of(symbol as u8);
        symbol += 1;
    }
    table
};

fn sextet(symbol: u8) -> Option<u8> {
    let value = SEXTETS[usize::from(symbol)];
    (value != NONE).then_some(value)
}
