//! Reading the JSON of answers. A field that is not there is not an error: the page leaves its place empty.

use serde_json::Value;

/// Fields of a JSON object, by name or by JSON pointer.
pub trait Fields {
    /// Returns a value below this one: a name, or a pointer such as `/run/usage`.
    fn field(&self, path: &str) -> &Value;

    /// Returns a text; the empty one where there is none.
    fn text(&self, path: &str) -> &str {
        self.field(path).as_str().unwrap_or_default()
    }

    /// Returns a whole number.
    fn number(&self, path: &str) -> Option<i64> {
        self.field(path).as_i64()
    }

    /// Returns a list; the empty one where there is none.
    fn list(&self, path: &str) -> &[Value] {
        self.field(path).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if the field is `true`.
    fn is(&self, path: &str) -> bool {
        self.field(path).as_bool().unwrap_or_default()
    }

    /// Returns a text, if it is one that is not empty.
    fn some_text(&self, path: &str) -> Option<&str> {
        Some(self.text(path)).filter(|text| !text.is_empty())
    }

    /// Returns the sentence of a reason: its `text`, or the value where it is a text itself.
    fn sentence(&self, path: &str) -> String {
        let reason = self.field(path);
        let one = |reason: &Value| match reason {
            Value::String(text) => text.clone(),
            reason => reason.text("text").to_owned(),
        };
        match reason {
            Value::Array(reasons) => reasons.iter().map(one).collect::<Vec<_>>().join("; "),
            reason => one(reason),
        }
    }
}

impl Fields for Value {
    fn field(&self, path: &str) -> &Value {
        const NOTHING: &Value = &Value::Null;
        let found = match path.starts_with('/') {
            true => self.pointer(path),
            false => self.get(path),
        };
        found.unwrap_or(NOTHING)
    }
}

/// Returns a scalar as text: what it is compared by, and what `data-` attributes hold.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // As scripts write it: without a fraction that is zero.
        Value::Number(number) => {
            let text = number.to_string();
            Some(text.strip_suffix(".0").map(str::to_owned).unwrap_or(text))
        }
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_are_empty() {
        let value = json!({"a": {"b": 1}, "because": [{"text": "x"}, "y"], "t": "z"});
        assert_eq!((value.number("/a/b"), value.number("b")), (Some(1), None));
        assert_eq!((value.text("t"), value.text("u"), value.list("a").len()), ("z", "", 0));
        assert_eq!(value.sentence("because"), "x; y");
        assert_eq!(scalar(value.field("/a/b")).as_deref(), Some("1"));
        assert_eq!(scalar(&json!(0.0)).as_deref(), Some("0"));
        assert_eq!(scalar(&json!(0.25)).as_deref(), Some("0.25"));
    }
}
