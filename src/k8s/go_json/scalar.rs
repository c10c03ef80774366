//! Texts, numbers and truth values.

use super::GoValue;
use super::error::Stop;
use super::map::GoKey;
use super::reader::{Kind, Reader};

/// A number of Go's type `int`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Int(pub i64);

/// Returns the name of a type.
pub(super) fn name_of<T: GoValue + ?Sized>(name: Option<&'static str>) -> String {
    name.map_or_else(T::go_type, str::to_owned)
}

impl GoValue for String {
    fn go_type() -> String {
        "string".to_owned()
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::String => *self = reader.string()?.into_owned(),
            Kind::Null => reader.null()?,
            kind => reader.refuse(kind, || name_of::<Self>(name))?,
        }
        Ok(())
    }
}

impl GoValue for bool {
    fn go_type() -> String {
        "bool".to_owned()
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::Bool => *self = reader.boolean()?,
            Kind::Null => reader.null()?,
            kind => reader.refuse(kind, || name_of::<Self>(name))?,
        }
        Ok(())
    }
}

macro_rules! number {
    ($type:ty, $go:literal, $set:expr) => {
        impl GoValue for $type {
            fn go_type() -> String {
                $go.to_owned()
            }

            fn read_named(
                &mut self,
                name: Option<&'static str>,
                reader: &mut Reader<'_>,
            ) -> Result<(), Stop> {
                match reader.kind()? {
                    Kind::Number => {
                        let text = reader.number()?;
                        match text.parse() {
                            Ok(number) => *self = $set(number),
                            Err(_) => {
                                reader.mismatch(format!("number {text}"), || name_of::<Self>(name));
                            }
                        }
                    }
                    Kind::Null => reader.null()?,
                    kind => reader.refuse(kind, || name_of::<Self>(name))?,
                }
                Ok(())
            }
        }
    };
}

number!(u8, "uint8", std::convert::identity);
number!(u32, "uint32", std::convert::identity);
number!(u64, "uint64", std::convert::identity);
number!(i64, "int64", std::convert::identity);
number!(Int, "int", Int);

impl GoKey for String {
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl GoKey for i64 {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl GoKey for Int {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}
