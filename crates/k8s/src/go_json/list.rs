//! Lists, and lists of bytes.
//!
//! Maps and pointers.

use super::error::Stop;
use super::reader::{Kind, Reader};
use super::structure::name_of;
use super::{GoValue, write};
use std::collections::BTreeMap;

/// A list in a field that can be filled twice: elements that a shorter list leaves behind are still in
/// its memory, and a later longer one finds the old elements there.
#[derive(Clone, Debug)]
pub struct GoList<T> {
    memory: Vec<T>,
    /// `None` is nil.
    len: Option<usize>,
}

impl<T> Default for GoList<T> {
    fn default() -> Self {
        Self { memory: Vec::new(), len: None }
    }
}

impl<T> GoList<T> {
    /// Returns an empty list that is not nil.
    pub fn empty() -> Self {
        Self { memory: Vec::new(), len: Some(0) }
    }

    /// Returns the elements; `None` is nil.
    pub fn into_option(mut self) -> Option<Vec<T>> {
        self.memory.truncate(self.len?);
        Some(self.memory)
    }
}

impl<T: GoValue + Default> GoValue for GoList<T> {
    fn go_type() -> String {
        format!("[]{}", T::go_type())
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::Array => {
                let len = read_elements(&mut self.memory, reader)?;
                if len == 0 {
                    // Go makes a new one.
                    self.memory.clear();
                }
                self.len = Some(len);
            }
            Kind::Null => {
                reader.null()?;
                *self = Self::default();
            }
            kind => reader.refuse(kind, || name_of::<Self>(name))?,
        }
        Ok(())
    }
}

/// A list in a place that is filled once, such as the value of a map; `None` is nil.
impl<T: GoValue + Default> GoValue for Option<Vec<T>> {
    fn go_type() -> String {
        format!("[]{}", T::go_type())
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::Array => {
                let elements = self.get_or_insert_default();
                let len = read_elements(elements, reader)?;
                elements.truncate(len);
            }
            Kind::Null => {
                reader.null()?;
                *self = None;
            }
            kind => reader.refuse(kind, || name_of::<Self>(name))?,
        }
        Ok(())
    }
}

/// Reads an array into existing elements, and returns its length.
fn read_elements<T: GoValue + Default>(
    elements: &mut Vec<T>,
    reader: &mut Reader<'_>,
) -> Result<usize, Stop> {
    let mut len = 0;
    reader.array(|reader| {
        if len == elements.len() {
            elements.push(T::default());
        }
        elements[len].read(reader)?;
        len += 1;
        Ok(())
    })?;
    Ok(len)
}

/// A list of bytes: base64, or an array of numbers.
#[derive(Clone, Debug, Default)]
pub struct GoBytes(GoList<u8>);

impl GoBytes {
    /// Returns the bytes; `None` is nil.
    pub fn into_option(self) -> Option<Vec<u8>> {
        self.0.into_option()
    }
}

impl GoValue for GoBytes {
    fn go_type() -> String {
        "[]uint8".to_owned()
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        if reader.kind()? != Kind::String {
            return self.0.read_named(name, reader);
        }
        let text = reader.string()?;
        match write::decode(text.as_bytes()) {
            Ok(memory) => self.0 = GoList { len: Some(memory.len()), memory },
            Err(at) => reader.bad_base64(at),
        }
        Ok(())
    }
}

/// A key of a map.
pub trait GoKey: GoValue + Ord + Sized {
    /// Returns the key that a text is; `None`: it is no number, or one that does not fit.
    fn parse(text: &str) -> Option<Self>;
}

/// A map; `None` is nil. The value of a key that comes again is replaced as a whole.
impl<K: GoKey, V: GoValue + Default> GoValue for Option<BTreeMap<K, V>> {
    fn go_type() -> String {
        format!("map[{}]{}", K::go_type(), V::go_type())
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::Object => {
                let map = self.get_or_insert_default();
                reader.object(|reader, key| {
                    let mut value = V::default();
                    value.read(reader)?;
                    // Go decodes the key after the value.
                    match K::parse(&key) {
                        Some(key) => drop(map.insert(key, value)),
                        None => reader.mismatch(format!("number {key}"), K::go_type),
                    }
                    Ok(())
                })?;
            }
            Kind::Null => {
                reader.null()?;
                *self = None;
            }
            kind => reader.refuse(kind, || name_of::<Self>(name))?,
        }
        Ok(())
    }
}

/// A pointer; `None` is nil.
impl<T: GoValue + Default> GoValue for Option<Box<T>> {
    fn go_type() -> String {
        format!("*{}", T::go_type())
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        if reader.kind()? == Kind::Null {
            reader.null()?;
            *self = None;
            return Ok(());
        }
        self.get_or_insert_default().read_named(name, reader)
    }
}
