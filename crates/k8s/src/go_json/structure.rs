//! Structures, whose fields are matched by name.
//!
//! Texts, numbers and truth values.

use super::GoValue;
use super::error::Stop;
use super::list::GoKey;
use super::reader::{Kind, Reader};

/// A structure. The names of its fields are ASCII.
pub trait GoStruct: Sized + 'static {
    /// The type in Go: `checkpoint.PodDevicesEntry`.
    const TYPE: &'static str;
    const FIELDS: &'static [Field<Self>];
}

/// A field of a structure.
#[derive(Debug)]
pub struct Field<T: 'static> {
    /// Its name in the document.
    pub name: &'static str,
    /// How its value is read.
    pub read: fn(&mut T, &mut Reader<'_>) -> Result<(), Stop>,
}

/// Declares the fields of a structure: `Block = "state.Block" { "size" => size, "type" => kind: "v1.ResourceName" }`; a
/// type with a name of its own stands after the field.
#[macro_export]
macro_rules! go_struct {
    (@read $value:expr, $reader:ident) => {
        $crate::go_json::GoValue::read(&mut $value, $reader)
    };
    (@read $value:expr, $reader:ident, $of:literal) => {
        $crate::go_json::GoValue::read_as(&mut $value, $of, $reader)
    };
    ($type:ty = $go:literal { $($name:literal => $($field:ident).+ $(: $of:literal)?),* $(,)? }) => {
        impl $crate::go_json::GoStruct for $type {
            const TYPE: &'static str = $go;
            const FIELDS: &'static [$crate::go_json::Field<Self>] = &[
                $($crate::go_json::Field {
                    name: $name,
                    read: |it, reader| $crate::go_struct!(@read it.$($field).+, reader $(, $of)?),
                }),*
            ];
        }
    };
}

pub use go_struct;

impl<T: GoStruct> GoValue for T {
    fn go_type() -> String {
        T::TYPE.to_owned()
    }

    fn read_named(
        &mut self,
        name: Option<&'static str>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        match reader.kind()? {
            Kind::Object => {
                let structure = T::TYPE.rsplit('.').next().unwrap_or(T::TYPE);
                // Writers of such documents keep the order of the fields.
                let mut likely = T::FIELDS.iter();
                reader.object(|reader, key| {
                    let field = match likely.next() {
                        Some(field) if field.name == key => Some(field),
                        _ => find(T::FIELDS, &key),
                    };
                    match field {
                        Some(field) => reader
                            .in_field(structure, field.name, |reader| (field.read)(self, reader)),
                        None => reader.skip(),
                    }
                })
            }
            Kind::Null => reader.null(),
            kind => reader.refuse(kind, || name_of::<Self>(name)),
        }
    }
}

/// Finds a field by its exact name, else without regard to case.
fn find<'f, T>(fields: &'f [Field<T>], key: &str) -> Option<&'f Field<T>> {
    let exact = fields.iter().find(|field| field.name == key);
    exact.or_else(|| fields.iter().find(|field| folded_equal(field.name, key)))
}

/// Compares a name in ASCII with a key under Unicode's simple folding (`foldName` in `fold.go`). Two
/// characters beyond ASCII fold into it.
fn folded_equal(name: &str, key: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(fold).eq(key.chars().map(fold))
}

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
