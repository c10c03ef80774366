//! Writes values without the credentials that were sent.

use super::redact;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::cell::Cell;
use std::fmt::{self, Write as _};

/// A value whose texts are written without the credentials that were sent. Names of fields and variants are kq's own and
/// stay; the keys of maps are texts.
#[derive(Clone, Copy, Debug)]
pub struct Redacted<'v, T: ?Sized>(pub &'v T);

impl<T: Serialize + ?Sized> Serialize for Redacted<'_, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Redacting(serializer))
    }
}

/// A serializer, or a part of one, that gets texts without the credentials.
struct Redacting<S>(S);

/// Passes values on that are no texts.
macro_rules! pass_on {
    ($($name:ident: $type:ty,)*) => {
        $(#[inline]
        fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.0.$name(value)
        })*
    };
}

impl<S: Serializer> Serializer for Redacting<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Redacting<S::SerializeSeq>;
    type SerializeTuple = Redacting<S::SerializeTuple>;
    type SerializeTupleStruct = Redacting<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Redacting<S::SerializeTupleVariant>;
    type SerializeMap = Redacting<S::SerializeMap>;
    type SerializeStruct = Redacting<S::SerializeStruct>;
    type SerializeStructVariant = Redacting<S::SerializeStructVariant>;

    pass_on! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        self.0.serialize_str(&redact(text))
    }

    #[inline]
    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_none()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Redacted(value))
    }

    #[inline]
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit_variant(name, index, variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Redacted(value))
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Redacted(value))
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(len).map(Redacting)
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(len).map(Redacting)
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, len).map(Redacting)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, len).map(Redacting)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(len).map(Redacting)
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, len).map(Redacting)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, len).map(Redacting)
    }

    #[inline]
    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        // JSON escapes a text at once several times as fast as the pieces that it is made of.
        thread_local!(static TEXT: Cell<String> = const { Cell::new(String::new()) });
        // Taken out of its place: a value whose words are made of JSON finds another one there.
        let mut text = TEXT.take();
        text.clear();
        let written = write!(text, "{value}").map_err(S::Error::custom);
        let done = written.and_then(|()| self.serialize_str(&text));
        TEXT.set(text);
        done
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Redacts the elements of lists.
macro_rules! elements {
    ($($part:ident: $element:ident,)*) => {
        $(impl<S: $part> $part for Redacting<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$element(&Redacted(value))
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

/// Redacts the fields of structures.
macro_rules! fields {
    ($($part:ident,)*) => {
        $(impl<S: $part> $part for Redacting<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(key, &Redacted(value))
            }

            #[inline]
            fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(key)
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant, }

impl<S: SerializeMap> SerializeMap for Redacting<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(&Redacted(key))
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Redacted(value))
    }

    #[inline]
    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), S::Error> {
        self.0.serialize_entry(&Redacted(key), &Redacted(value))
    }

    #[inline]
    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::{MARK, sent, watch};
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn every_text_of_a_value_is_redacted_and_no_field_is() {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        enum Kind {
            TheSecretWord,
            Named { the_secret_word: String },
            Tuple(String, u8),
            One(String),
        }
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct All {
            the_secret_word: Option<String>,
            list: Vec<String>,
            pair: (String, i128),
            map: BTreeMap<String, String>,
            kinds: Vec<Kind>,
            shown: std::net::IpAddr,
            none: Option<String>,
            unit: (),
            number: f64,
        }
        // This word is in no other test.
        watch();
        sent("theSecretWord");
        let secret = || "theSecretWord".to_owned();
        let all = All {
            the_secret_word: Some(secret()),
            list: vec![secret(), "other".to_owned()],
            pair: (format!("a {}", secret()), 1),
            map: [(secret(), secret())].into(),
            kinds: vec![
                Kind::TheSecretWord,
                Kind::Named { the_secret_word: secret() },
                Kind::Tuple(secret(), 2),
                Kind::One(secret()),
            ],
            shown: std::net::IpAddr::from([127, 0, 0, 1]),
            none: None,
            unit: (),
            number: 0.5,
        };
        let written = serde_json::to_value(Redacted(&all)).expect("it is JSON");
        let expected = json!({
            "theSecretWord": MARK,
            "list": [MARK, "other"],
            "pair": [format!("a {MARK}"), 1],
            "map": {MARK: MARK},
            "kinds": [
                "theSecretWord", {"named": {"the_secret_word": MARK}}, {"tuple": [MARK, 2]}, {"one": MARK}
            ],
            "shown": "127.0.0.1",
            "none": null,
            "unit": null,
            "number": 0.5,
        });
        assert_eq!(written, expected);
    }
}
