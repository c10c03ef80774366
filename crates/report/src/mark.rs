//! Marks of pictures: SVG and HTML elements that carry the numbers that they stand for.
//!
//! A mark names the place in an embedded answer that it draws (`data-of`, the identifier of the answer and a JSON pointer)
//! and repeats the fields that it shows in `data-` attributes of the same names. A test, the tool tip of the page and any
//! other reader can so compare each with the answer.

use super::text::{pod, shown, whole};
use kq_output::value::to_value;
use maud::{Escaper, Markup, PreEscaped};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

/// A place in an embedded answer.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The identifier of the embedded answer.
    answer: &'a str,
    /// The JSON pointer to the value.
    pointer: String,
}

impl<'a> Place<'a> {
    /// Returns the place of a pointer such as `/run/usage`.
    pub fn new(answer: &'a str, pointer: &str) -> Self {
        Self { answer, pointer: pointer.to_owned() }
    }

    /// Returns a place below this one.
    pub fn below(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self { answer: self.answer, pointer: format!("{}/{escaped}", self.pointer) }
    }

    /// Returns the place of an item of a list.
    pub fn item(&self, at: usize) -> Self {
        Self { answer: self.answer, pointer: format!("{}/{at}", self.pointer) }
    }

    /// Returns the items of a list with their places.
    pub fn each<T>(&self, items: &'a [T]) -> Vec<(&'a T, Self)> {
        items.iter().enumerate().map(|(at, item)| (item, self.item(at))).collect()
    }
}

/// An element with its attributes.
#[derive(Clone, Debug)]
pub struct Mark {
    tag: &'static str,
    attributes: Vec<(String, String)>,
}

impl Mark {
    /// Returns an element of these classes.
    pub fn new(tag: &'static str, classes: &str) -> Self {
        Self { tag, attributes: vec![("class".to_owned(), classes.to_owned())] }
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Adds the class of thin marks, where something holds.
    pub fn thin_if(mut self, holds: bool) -> Self {
        if holds && let Some((_, classes)) = self.attributes.first_mut() {
            classes.push_str(" thin");
        }
        self
    }

    /// Adds where it is from left to right, as parts of the width.
    pub fn across(self, start: f64, width: f64) -> Self {
        self.with("x", percent(start)).with("width", percent(width))
    }

    /// Adds what it is called: the start of its tool tip.
    pub fn called(self, name: impl Into<String>) -> Self {
        self.with("data-name", name)
    }

    /// Adds the pod that it belongs to.
    pub fn of_pod(self, namespace: &str, name: &str) -> Self {
        self.with("data-pod", pod(namespace, name))
    }

    /// Adds the place that it draws.
    pub fn of(self, place: &Place<'_>) -> Self {
        self.with("data-of", whole(&format!("{}{}", place.answer, place.pointer)))
    }

    /// Adds a field that it shows, by its name in the answer; what is not there is left out.
    pub fn data(self, field: &str, value: &impl Serialize) -> Self {
        match to_value(value).ok().as_ref().and_then(scalar) {
            Some(value) => self.with(&format!("data-{}", kebab(field)), shown(&value)),
            None => self,
        }
    }

    /// Returns what it is called.
    pub fn name(&self) -> &str {
        let name = self.attributes.iter().find(|(name, _)| name == "data-name");
        name.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns the element with its content.
    pub fn holding(self, content: Markup) -> Markup {
        let mut text = format!("<{}", self.tag);
        for (name, value) in &self.attributes {
            let _ = write!(text, " {name}=\"");
            let _ = Escaper::new(&mut text).write_str(value);
            text.push('"');
        }
        let _ = write!(text, ">{}</{}>", content.0, self.tag);
        PreEscaped(text)
    }

    /// Returns the element without content.
    pub fn empty(self) -> Markup {
        self.holding(PreEscaped(String::new()))
    }
}

/// Returns a scalar as text: what it is compared by, and what `data-` attributes hold.
fn scalar(value: &Value) -> Option<String> {
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

/// Writes a part as a percentage.
pub fn percent(part: f64) -> String {
    let text = format!("{:.3}", part * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}%", if text == "-0" { "0" } else { text })
}

/// Returns the name of the attribute that scripts read as this name: `sizeBytes` is `size-bytes`.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_has_its_numbers_and_its_place() {
        let place = Place::new("gc", "/items").item(0);
        let mark = Mark::new("rect", "m")
            .across(0.25, 1.0 / 3.0)
            .of(&place)
            .data("sizeBytes", &7)
            .data("place", &None::<i64>)
            .data("id", &"<\"&");
        assert_eq!(
            mark.empty().0,
            "<rect class=\"m\" x=\"25%\" width=\"33.333%\" data-of=\"gc/items/0\" data-size-bytes=\"7\" \
             data-id=\"&lt;&quot;&amp;\"></rect>"
        );
        assert_eq!(place.below("a/b").pointer, "/items/0/a~1b");
    }

    #[test]
    fn scalars_are_written_as_scripts_write_them() {
        for (value, expected) in [(json!(0.0), "0"), (json!(0.25), "0.25"), (json!(true), "true")] {
            assert_eq!(scalar(&value).as_deref(), Some(expected));
        }
        assert_eq!(scalar(&json!([])), None);
    }

    #[test]
    fn parts_are_short_percentages() {
        assert_eq!(
            [percent(0.0), percent(1.0), percent(0.125), percent(-0.0)],
            ["0%", "100%", "12.5%", "0%"]
        );
    }
}
