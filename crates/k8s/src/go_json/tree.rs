//! A whole document of JSON, where each number is as it was written and a field may come twice.

use super::error::{GoJsonError, Stop};
use super::reader::{Kind, Reader};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read; the kubelet's limit is 10000.
const MAX_DEPTH: usize = 100;

/// A value of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    Null,
    Bool(bool),
    /// A number as it was written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    /// Fields in the order of the text.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Reads a document; `Ok(None)`: it is nested too deep for kq.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, GoJsonError> {
        super::check_syntax(bytes).map_err(GoJsonError::Syntax)?;
        match read(&mut Reader::new(bytes), 0) {
            Ok(tree) => Ok(Some(tree)),
            Err(Stop::Syntax(error)) => Err(GoJsonError::Syntax(error)),
            Err(Stop::Custom(_)) => Ok(None),
        }
    }

    /// Returns what an error of type calls the value.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Returns the value with the last of each field; two objects of one name merge.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(on) => Value::Bool(*on),
            Self::Number(text) => number(text),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(fields) => {
                let mut map = Map::new();
                for (name, value) in fields {
                    put(&mut map, name, value.to_value());
                }
                Value::Object(map)
            }
        }
    }
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(on) => Self::Bool(*on),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), value.into()));
                Self::Object(fields.collect())
            }
        }
    }
}

fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    match (map.get_mut(name), value) {
        (Some(Value::Object(known)), Value::Object(fields)) => {
            for (name, value) in fields {
                put(known, &name, value);
            }
        }
        (_, value) => {
            map.insert(name.to_owned(), value);
        }
    }
}

fn number(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = text.parse::<u64>() {
        return number.into();
    }
    let float = text.parse::<f64>().ok().and_then(Number::from_f64);
    float.map_or(Value::Null, Value::Number)
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Tree, Stop> {
    if depth > MAX_DEPTH {
        return Err(Stop::Custom(String::new()));
    }
    Ok(match reader.kind()? {
        Kind::Null => {
            reader.null()?;
            Tree::Null
        }
        Kind::Bool => Tree::Bool(reader.boolean()?),
        Kind::Number => Tree::Number(reader.number()?.to_owned()),
        Kind::String => Tree::Text(reader.string()?.into_owned()),
        Kind::Array => {
            let mut items = Vec::new();
            reader.array(|reader| {
                items.push(read(reader, depth + 1)?);
                Ok(())
            })?;
            Tree::List(items)
        }
        Kind::Object => {
            let mut fields = Vec::new();
            reader.object(|reader, name| {
                fields.push((name.into_owned(), read(reader, depth + 1)?));
                Ok(())
            })?;
            Tree::Object(fields)
        }
    })
}
