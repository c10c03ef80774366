//! Structures, whose fields are found by name.

use super::GoValue;
use super::error::Stop;
use super::reader::{Kind, Reader};
use super::scalar::name_of;

/// A structure. The names of its fields are ASCII.
pub trait GoStruct: Sized + 'static {
    /// The type in Go: `checkpoint.PodDevicesEntry`.
    const TYPE: &'static str;
    /// The fields.
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

/// Says the fields of a structure: `Block = "state.Block" { "size" => size, "type" => kind: "v1.ResourceName" }`; a
/// type with a name of its own stands after the field.
macro_rules! go_struct {
    (@read $value:expr, $reader:ident) => {
        $crate::k8s::go_json::GoValue::read(&mut $value, $reader)
    };
    (@read $value:expr, $reader:ident, $of:literal) => {
        $crate::k8s::go_json::GoValue::read_as(&mut $value, $of, $reader)
    };
    ($type:ty = $go:literal { $($name:literal => $($field:ident).+ $(: $of:literal)?),* $(,)? }) => {
        impl $crate::k8s::go_json::GoStruct for $type {
            const TYPE: &'static str = $go;
            const FIELDS: &'static [$crate::k8s::go_json::Field<Self>] = &[
                $($crate::k8s::go_json::Field {
                    name: $name,
                    read: |it, reader| go_struct!(@read it.$($field).+, reader $(, $of)?),
                }),*
            ];
        }
    };
}

pub(crate) use go_struct;

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
                // Whoever writes such a document keeps the order of the fields.
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
