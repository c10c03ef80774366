//! Reasons in JSON and YAML: the code, the facts, and the sentence.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A reason that is written as `{"code": ..., FACTS..., "text": ...}`. The text is made when it is shown or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worded<R>(pub R);

#[derive(Serialize, JsonSchema)]
struct Written<R, T> {
    #[serde(flatten)]
    reason: R,
    /// The same in words.
    text: T,
}

impl<R: Serialize + fmt::Display> Serialize for Worded<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { reason: &self.0, text: format_args!("{}", self.0) }.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for Worded<R> {
    fn schema_name() -> Cow<'static, str> {
        R::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("worded {}", R::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::<R, String>::json_schema(generator)
    }
}

impl<R: fmt::Display> fmt::Display for Worded<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<R> Deref for Worded<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0
    }
}

impl<R> From<R> for Worded<R> {
    fn from(reason: R) -> Self {
        Self(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(crate::reason::Reason)]
    enum Reason {
        #[text("it is off")]
        Off,
        #[text("younger than {minimum_age}")]
        TooYoung { minimum_age: u32 },
    }

    #[test]
    fn a_reason_is_written_with_its_code_its_facts_and_its_text() {
        let reasons = [Worded(Reason::Off), Worded(Reason::TooYoung { minimum_age: 2 })];
        assert_eq!(
            serde_json::to_value(&reasons).expect("it can be written"),
            json!([
                {"code": "off", "text": "it is off"},
                {"code": "tooYoung", "minimumAge": 2, "text": "younger than 2"},
            ])
        );
        let schema = schemars::schema_for!(Worded<Reason>);
        assert!(schema.get("properties").is_some_and(|it| it.get("text").is_some()), "{schema:?}");
        assert_eq!(schema.get("title"), Some(&json!("Reason")));
    }
}
