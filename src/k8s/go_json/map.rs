//! Maps and pointers.

use super::GoValue;
use super::error::Stop;
use super::reader::{Kind, Reader};
use super::scalar::name_of;
use std::collections::BTreeMap;

/// What can be a key of a map.
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
                    // Go looks at the key when it has the value.
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
