//! The part of the D-Bus wire format that kq speaks: one method call, and its reply.
//!
//! After the D-Bus specification 0.43, "Message Protocol". Sent in little endian; a reply may have either order.

use kq_facts::unit::Property;

/// The largest reply that is read; those that kq asks for have less than a kilobyte.
pub const MOST_BYTES: usize = 64 << 10;

/// The bytes before the fields of a header, with the length of the fields.
pub const FIXED: usize = 16;

/// The deepest nesting that is read: a variant in a struct in an array.
const MOST_DEPTH: usize = 8;

const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;

/// A method to call.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a> {
    pub destination: &'a str,
    pub path: &'a str,
    pub interface: &'a str,
    pub member: &'a str,
}

/// An argument of a method.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    Text(&'a str),
    Flag(bool),
    /// `a(sv)`
    Properties(&'a [(&'a str, &'a Property)]),
}

impl Argument<'_> {
    const fn signature(&self) -> &'static str {
        match self {
            Self::Text(_) => "s",
            Self::Flag(_) => "b",
            Self::Properties(_) => "a(sv)",
        }
    }
}

/// Returns a method call as it is sent.
pub fn call(serial: u32, method: Method<'_>, arguments: &[Argument<'_>]) -> Vec<u8> {
    let mut body = Writer::default();
    arguments.iter().for_each(|argument| body.argument(argument));
    let signature: String = arguments.iter().map(Argument::signature).collect();
    let mut header = Writer::default();
    header.bytes.extend([b'l', METHOD_CALL, 0, 1]);
    header.number(length(&body.bytes));
    header.number(serial);
    header.array(8, |fields| {
        for (code, kind, text) in [
            (1, "o", method.path),
            (2, "s", method.interface),
            (3, "s", method.member),
            (6, "s", method.destination),
        ] {
            fields.align(8);
            fields.bytes.push(code);
            fields.signature(kind);
            fields.text(text);
        }
        if !signature.is_empty() {
            fields.align(8);
            fields.bytes.push(8);
            fields.signature("g");
            fields.signature(&signature);
        }
    });
    header.align(8);
    header.bytes.extend(body.bytes);
    header.bytes
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Writes values at their places.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    fn number(&mut self, number: u32) {
        self.align(4);
        self.bytes.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(length(text.as_bytes()));
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    fn signature(&mut self, text: &str) {
        self.bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    /// Writes an array: its length counts from the first item, which is at a place of its own.
    fn array(&mut self, align: usize, items: impl FnOnce(&mut Self)) {
        self.number(0);
        let length_at = self.bytes.len() - 4;
        self.align(align);
        let start = self.bytes.len();
        items(self);
        let length = length(&self.bytes[start..]).to_le_bytes();
        self.bytes[length_at..length_at + 4].copy_from_slice(&length);
    }

    fn argument(&mut self, argument: &Argument<'_>) {
        match argument {
            Argument::Text(text) => self.text(text),
            Argument::Flag(flag) => self.number((*flag).into()),
            Argument::Properties(properties) => self.array(8, |items| {
                for (name, value) in *properties {
                    items.align(8);
                    items.text(name);
                    items.property(value);
                }
            }),
        }
    }

    fn property(&mut self, property: &Property) {
        match property {
            Property::Number(number) => {
                self.signature("t");
                self.align(8);
                self.bytes.extend(number.to_le_bytes());
            }
            Property::Bits(bits) => {
                self.signature("ay");
                self.array(1, |items| items.bytes.extend(bits));
            }
        }
    }
}

/// What a reply has: nothing, or its first value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Nothing,
    Text(String),
    Property(Property),
    /// A value of a type that kq does not ask for.
    Other(String),
}

/// A message of the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The answer to the call of this serial: the reply, or the name and the text of an error.
    Answer { serial: u32, answer: Result<Reply, (String, String)> },
    /// Something else, such as a signal.
    Other,
}

/// Returns the number of bytes of a message from its first [`FIXED`] ones.
/// Fails for one that is none, or too large.
pub fn length_of(start: &[u8]) -> Result<usize, String> {
    let mut reader = Reader::of(start)?;
    reader.at = 4;
    let body = reader.length()?;
    reader.at = 12;
    let fields = reader.length()?;
    let all = (FIXED + fields).next_multiple_of(8) + body;
    match all > MOST_BYTES {
        true => Err(format!("a message of {all} bytes, more than {MOST_BYTES}")),
        false => Ok(all),
    }
}

/// Reads a whole message.
/// Fails for what is none.
pub fn read(bytes: &[u8]) -> Result<Message, String> {
    let mut reader = Reader::of(bytes)?;
    let kind = bytes.get(1).copied().unwrap_or_default();
    reader.at = 12;
    let end = reader.length()?.saturating_add(FIXED);
    let (mut serial, mut name, mut signature) = (None, String::new(), String::new());
    while reader.at < end {
        reader.align(8)?;
        let code = reader.byte()?;
        let kind = reader.signature()?;
        match (code, kind.as_str()) {
            (4, "s") => name = reader.text()?,
            (5, "u") => serial = Some(reader.number()?),
            (8, "g") => signature = reader.signature()?,
            _ => reader.skip(&kind)?,
        }
    }
    reader.align(8)?;
    let Some(serial) = serial.filter(|_| [METHOD_RETURN, ERROR].contains(&kind)) else {
        return Ok(Message::Other);
    };
    let value = reader.value(&signature, 0)?;
    Ok(Message::Answer {
        serial,
        answer: match (kind, value) {
            (METHOD_RETURN, value) => Ok(value),
            (_, Reply::Text(text)) => Err((name, text)),
            _ => Err((name, String::new())),
        },
    })
}

/// Reads values from their places.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big_endian: bool,
}

impl<'a> Reader<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        match bytes.first() {
            Some(b'l') => Ok(Self { bytes, at: 0, is_big_endian: false }),
            Some(b'B') => Ok(Self { bytes, at: 0, is_big_endian: true }),
            _ => Err("no message of D-Bus".to_owned()),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or("a message of D-Bus that ends too early")?;
        self.at += count;
        Ok(taken)
    }

    fn align(&mut self, to: usize) -> Result<(), String> {
        let next = self.at.next_multiple_of(to);
        self.take(next - self.at).map(|_| ())
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u32, String> {
        self.align(4)?;
        let bytes = self.take(4)?.try_into().map_err(|_| "four bytes")?;
        Ok(if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn long(&mut self) -> Result<u64, String> {
        self.align(8)?;
        let bytes = self.take(8)?.try_into().map_err(|_| "eight bytes")?;
        Ok(if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Reads a length, which no message exceeds.
    fn length(&mut self) -> Result<usize, String> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        match length > MOST_BYTES {
            true => Err(format!("a length of {length} bytes, more than {MOST_BYTES}")),
            false => Ok(length),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.length()?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.byte()?;
        Ok(text)
    }

    fn signature(&mut self) -> Result<String, String> {
        let length = self.byte()?.into();
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.byte()?;
        Ok(text)
    }

    /// Passes over a field of a header.
    fn skip(&mut self, kind: &str) -> Result<(), String> {
        match kind {
            "s" | "o" => self.text().map(|_| ()),
            "g" => self.signature().map(|_| ()),
            "u" => self.number().map(|_| ()),
            _ => Err(format!("a header of D-Bus with the type {kind:?}")),
        }
    }

    /// Reads the first value of a signature.
    fn value(&mut self, signature: &str, depth: usize) -> Result<Reply, String> {
        let kind = signature.chars().next();
        match kind {
            _ if depth > MOST_DEPTH => Err("a value of D-Bus that is nested too deep".to_owned()),
            None => Ok(Reply::Nothing),
            Some('s' | 'o') => Ok(Reply::Text(self.text()?)),
            Some('t') => Ok(Reply::Property(Property::Number(self.long()?))),
            Some('u') => Ok(Reply::Property(Property::Number(self.number()?.into()))),
            Some('a') if signature == "ay" => {
                let length = self.length()?;
                Ok(Reply::Property(Property::Bits(self.take(length)?.to_vec())))
            }
            Some('v') => {
                let inner = self.signature()?;
                self.value(&inner, depth + 1)
            }
            Some(_) => Ok(Reply::Other(signature.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Method<'_> =
        Method { destination: "org.a", path: "/b", interface: "org.c", member: "D" };

    /// A reply as a bus sends it, with these fields and this body.
    fn reply(kind: u8, fields: &[(u8, &str, &str)], signature: &str, body: &[u8]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes.extend([b'l', kind, 1, 1]);
        writer.number(length(body));
        writer.number(9);
        writer.array(8, |out| {
            out.align(8);
            out.bytes.push(5);
            out.signature("u");
            out.number(7);
            for (code, kind, text) in fields {
                out.align(8);
                out.bytes.push(*code);
                out.signature(kind);
                out.text(text);
            }
            if !signature.is_empty() {
                out.align(8);
                out.bytes.push(8);
                out.signature("g");
                out.signature(signature);
            }
        });
        writer.align(8);
        writer.bytes.extend(body);
        writer.bytes
    }

    #[test]
    fn a_call_is_laid_out_as_the_specification_has_it() {
        let bytes = call(7, METHOD, &[Argument::Text("x")]);
        assert_eq!(&bytes[..4], [b'l', 1, 0, 1]);
        assert_eq!(&bytes[4..12], [6, 0, 0, 0, 7, 0, 0, 0], "the body and the serial");
        assert_eq!(length_of(&bytes[..FIXED]), Ok(bytes.len()));
        assert_eq!(&bytes[bytes.len() - 6..], [1, 0, 0, 0, b'x', 0]);
        assert_eq!(&bytes[16..27], [1, 1, b'o', 0, 2, 0, 0, 0, b'/', b'b', 0]);
        assert_eq!(read(&bytes), Ok(Message::Other), "a call is no answer");
    }

    #[test]
    fn properties_are_aligned() {
        let (weight, cpus) = (Property::Number(39), Property::Bits(vec![3]));
        let mut writer = Writer::default();
        let all = [("CPUWeight", &weight), ("AllowedCPUs", &cpus)];
        writer.argument(&Argument::Properties(&all));
        let expected: Vec<u8> = [
            &[68, 0, 0, 0, 0, 0, 0, 0][..],
            &[9, 0, 0, 0],
            b"CPUWeight\0",
            &[1, b't', 0, 0, 0, 0, 0, 0, 0, 0],
            &[39, 0, 0, 0, 0, 0, 0, 0],
            &[11, 0, 0, 0],
            b"AllowedCPUs\0",
            &[2, b'a', b'y', 0],
            &[0, 0, 0, 0],
            &[1, 0, 0, 0, 3],
        ]
        .concat();
        let found = writer.bytes;
        assert_eq!(found.len(), usize::from(found[0]) + 8);
        assert_eq!(&found[8..22], &expected[8..22]);
        assert_eq!(&found[32..40], [39, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&found[found.len() - 5..], [1, 0, 0, 0, 3]);
    }

    #[test]
    fn replies_have_their_first_value() {
        let answer = |answer| Ok(Message::Answer { serial: 7, answer });
        let text = [3, 0, 0, 0, b'a', b'b', b'c', 0];
        let number = [&[1, b't', 0, 0, 0, 0, 0, 0][..], &77_u64.to_le_bytes()].concat();
        let bits = [2, b'a', b'y', 0, 2, 0, 0, 0, 1, 2];
        for (name, bytes, expected) in [
            ("nothing", reply(2, &[], "", &[]), answer(Ok(Reply::Nothing))),
            ("a text", reply(2, &[], "s", &text), answer(Ok(Reply::Text("abc".to_owned())))),
            ("a path", reply(2, &[], "o", &text), answer(Ok(Reply::Text("abc".to_owned())))),
            (
                "a number",
                reply(2, &[], "v", &number),
                answer(Ok(Reply::Property(Property::Number(77)))),
            ),
            (
                "bits",
                reply(2, &[], "v", &bits),
                answer(Ok(Reply::Property(Property::Bits(vec![1, 2])))),
            ),
            (
                "an error",
                reply(3, &[(4, "s", "org.Error")], "s", &text),
                answer(Err(("org.Error".to_owned(), "abc".to_owned()))),
            ),
            ("a signal", reply(4, &[], "s", &text), Ok(Message::Other)),
            (
                "another type",
                reply(2, &[], "a{sv}", &[0; 8]),
                answer(Ok(Reply::Other("a{sv}".to_owned()))),
            ),
        ] {
            assert_eq!(read(&bytes), expected, "{name}");
            assert_eq!(length_of(&bytes[..FIXED]), Ok(bytes.len()), "{name}");
        }
    }

    #[test]
    fn broken_messages_are_refused_at_every_length() {
        let number = [&[1, b't', 0, 0, 0, 0, 0, 0][..], &77_u64.to_le_bytes()].concat();
        let whole = reply(2, &[(6, "s", ":1.9"), (7, "s", ":1.0")], "v", &number);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end} bytes");
        }
        let mut large = whole.clone();
        large[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(length_of(&large[..FIXED]).is_err());
        let nested = [1, b'v', 0].repeat(40);
        assert!(read(&reply(2, &[], "v", &nested)).is_err(), "nested");
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                // Whatever it is, it ends.
                let _ = (read(&changed), length_of(&changed[..FIXED]));
            }
        }
    }
}
