//! Templates of kubectl's `-o jsonpath` and `-o custom-columns`.
//!
//! The syntax is that of `k8s.io/client-go/util/jsonpath` (parser.go, jsonpath.go): paths in braces, quoted texts,
//! ranges. The paths are those of RFC 9535 after a translation: names after a dot may have hyphens and escaped dots,
//! and the root need not be written. A template without braces is a path.

use super::table::Table;
use super::terminal::shown_safely;
use serde_json::Value;
use serde_json_path::JsonPath;

/// A template with its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Path(Path),
    Range(Path, Vec<Segment>),
}

/// A path from the element of a range, or from the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    path: JsonPath,
    is_of_root: bool,
}

/// Columns, each with its path below a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomColumns(Vec<(String, Path)>);

/// Why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{{ without }}")]
    Open,
    #[error("{{range}} without {{end}}")]
    OpenRange,
    #[error("{{end}} without {{range}}")]
    End,
    #[error("{path}: {reason}")]
    Path { path: String, reason: String },
    #[error("{column:?}: expected HEADING:PATH, such as NAME:.name")]
    Column { column: String },
}

impl Template {
    /// Reads a template.
    /// Fails for a brace, a range or a path that does not end, and for a path that is none.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if !text.contains('{') {
            return Ok(Self(vec![Segment::Path(Path::parse(text)?)]));
        }
        let mut open: Vec<(Path, Vec<Segment>)> = Vec::new();
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some((before, from)) = rest.split_once('{') {
            if !before.is_empty() {
                segments.push(Segment::Text(before.to_owned()));
            }
            let end = end_of(from, '}').ok_or(TemplateError::Open)?;
            let inner = from[..end].trim();
            rest = &from[end + 1..];
            if let Some(list) = inner.strip_prefix("range ") {
                open.push((Path::parse(list)?, std::mem::take(&mut segments)));
            } else if inner == "end" {
                let (list, before) = open.pop().ok_or(TemplateError::End)?;
                let body = std::mem::replace(&mut segments, before);
                segments.push(Segment::Range(list, body));
            } else if let Some(text) = quoted(inner) {
                segments.push(Segment::Text(text));
            } else {
                segments.push(Segment::Path(Path::parse(inner)?));
            }
        }
        if !open.is_empty() {
            return Err(TemplateError::OpenRange);
        }
        if !rest.is_empty() {
            segments.push(Segment::Text(rest.to_owned()));
        }
        Ok(Self(segments))
    }

    /// Returns the text for a value; a path that leads nowhere gives none. Values of one path are apart by blanks.
    pub fn text(&self, root: &Value) -> String {
        let mut text = String::new();
        write(&self.0, root, root, &mut text);
        text
    }
}

fn write(segments: &[Segment], root: &Value, at: &Value, text: &mut String) {
    for segment in segments {
        match segment {
            Segment::Text(literal) => text.push_str(literal),
            Segment::Path(path) => {
                // The template may have tabs and line ends; a value plays no games with the terminal.
                let texts = path.texts(root, at);
                text.push_str(&shown_safely(&texts.join(" ")));
            }
            Segment::Range(list, body) => {
                for element in list.find(root, at) {
                    write(body, root, element, text);
                }
            }
        }
    }
}

impl Path {
    fn parse(text: &str) -> Result<Self, TemplateError> {
        let text = text.trim();
        let refuse = |reason: String| TemplateError::Path { path: text.to_owned(), reason };
        let translated = translate(text).map_err(refuse)?;
        let path = JsonPath::parse(&translated).map_err(|error| refuse(error.to_string()))?;
        Ok(Self { path, is_of_root: text.starts_with('$') })
    }

    fn find<'v>(&self, root: &'v Value, at: &'v Value) -> Vec<&'v Value> {
        self.path.query(if self.is_of_root { root } else { at }).all()
    }

    fn texts(&self, root: &Value, at: &Value) -> Vec<String> {
        self.find(root, at).into_iter().map(shown).collect()
    }
}

/// Returns a value as kubectl prints it: a text without quotes, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Turns a path of kubectl into one of RFC 9535.
fn translate(text: &str) -> Result<String, String> {
    let mut path = "$".to_owned();
    let mut rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    if !rest.starts_with(['.', '[']) {
        // kubectl's columns may leave the first dot out.
        rest = push_name(rest, &mut path);
    }
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = end_of(after, ']').ok_or("[ without ]")?;
            path.push_str(&rest[..end + 2]);
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix("..") {
            path.push_str("..");
            match after.starts_with('[') {
                true => rest = after,
                false => rest = push_name(after, &mut path),
            }
        } else if let Some(after) = rest.strip_prefix('.') {
            rest = if after.starts_with('[') { after } else { push_name(after, &mut path) };
        } else {
            return Err(format!("{rest:?}: expected . or ["));
        }
    }
    Ok(path)
}

/// Adds the name that a text begins with, in brackets; returns what follows.
fn push_name<'t>(text: &'t str, path: &mut String) -> &'t str {
    let mut name = String::new();
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.extend(characters.next().map(|(_, c)| c)),
            '.' | '[' => {
                end = at;
                break;
            }
            c => name.push(c),
        }
    }
    match name.as_str() {
        "" => {}
        "*" => path.push_str("[*]"),
        // A field of that name, or an element of a list.
        name if name.bytes().all(|it| it.is_ascii_digit()) => {
            path.push_str(&format!("['{name}',{name}]"));
        }
        name => {
            let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
            path.push_str(&format!("['{escaped}']"));
        }
    }
    &text[end..]
}

/// Returns where a bracket closes, outside quotes and inner brackets.
fn end_of(text: &str, close: char) -> Option<usize> {
    let open = if close == ']' { '[' } else { '{' };
    let (mut depth, mut quote, mut escaped) = (0, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(of), c) if c == of => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c == open => depth += 1,
            (None, c) if c == close && depth == 0 => return Some(at),
            (None, c) if c == close => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

/// Returns the text between quotes, with its escapes.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut plain = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => plain.extend(characters.next().map(|c| match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            })),
            c => plain.push(c),
        }
    }
    Some(plain)
}

impl CustomColumns {
    /// Reads `HEADING:PATH,...`.
    /// Fails for a column without a heading or a path, and for a path that is none.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut columns = Vec::new();
        let mut rest = text;
        loop {
            let end = end_of_column(rest);
            let column = &rest[..end];
            let parts = column
                .split_once(':')
                .filter(|(heading, path)| !heading.trim().is_empty() && !path.trim().is_empty());
            let (heading, path) =
                parts.ok_or_else(|| TemplateError::Column { column: column.to_owned() })?;
            let path = path.trim();
            let path = path.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(path);
            columns.push((heading.trim().to_owned(), Path::parse(path)?));
            match rest.get(end + 1..) {
                Some(more) => rest = more,
                None => return Ok(Self(columns)),
            }
        }
    }

    /// Returns the table: a row for each of `items`, or one for an answer that is no list. A path that leads nowhere
    /// gives `<none>`.
    pub fn table(&self, answer: &Value) -> Table {
        let headings = self.0.iter().map(|(heading, _)| heading.clone()).collect();
        let items = answer.get("items").and_then(Value::as_array);
        let items = items.map_or(std::slice::from_ref(answer), Vec::as_slice);
        let cell = |row, path: &Path| {
            let values = path.texts(answer, row);
            if values.is_empty() { "<none>".to_owned() } else { values.join(",") }
        };
        let cells = |row| self.0.iter().map(|(_, path)| cell(row, path)).collect();
        Table::of(headings, items.iter().map(cells).collect())
    }
}

/// Returns where a column ends: at a comma outside brackets.
fn end_of_column(text: &str) -> usize {
    let mut depth = 0;
    let comma = text.char_indices().find(|(_, c)| {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
        *c == ',' && depth == 0
    });
    comma.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer() -> Value {
        json!({
            "kind": "List",
            "items": [
                {"name": "a", "size": 1, "tags": {"kubernetes.io/os": "linux"}, "used": ["x", "y"]},
                {"name": "b", "size": 20, "my-key": null, "used": []},
            ],
        })
    }

    #[test]
    fn templates_print_what_kubectl_prints() {
        let rows = [
            ("a field", "{.kind}", "List"),
            ("without braces", ".kind", "List"),
            ("the root", "{$.kind}", "List"),
            ("each of a list", "{.items[*].name}", "a b"),
            ("an index", "{.items[0].name}", "a"),
            ("from the end", "{.items[-1:].name}", "b"),
            ("a slice", "{.items[0:1].name}", "a"),
            ("numbers", "{.items[*].size}", "1 20"),
            ("an escaped dot", r"{.items[0].tags.kubernetes\.io/os}", "linux"),
            ("a name in brackets", "{.items[0]['tags']['kubernetes.io/os']}", "linux"),
            ("a hyphen, and null", "{.items[1].my-key}", "null"),
            ("a filter", "{.items[?(@.size>5)].name}", "b"),
            ("a filter by a text", r#"{.items[?(@.name=="a")].size}"#, "1"),
            ("anywhere", "{..name}", "a b"),
            ("an object", "{.items[0].used}", r#"["x","y"]"#),
            ("nothing", "{.other}", ""),
            ("texts", r#"{.kind}{"\t"}is{'\n'}"#, "List\tis\n"),
            ("a range", r#"{range .items[*]}{.name}={.size}{"\n"}{end}"#, "a=1\nb=20\n"),
            ("a range in a range", "{range .items[*]}{range .used[*]}{@};{end}{end}", "x;y;"),
            ("the root in a range", "{range .items[*]}{$.kind} {end}", "List List "),
        ];
        for (name, text, expected) in rows {
            let template = Template::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(template.text(&answer()), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for (text, expected) in [
            ("{.items", "{ without }"),
            ("{range .items[*]}{.name}", "{range} without {end}"),
            ("{end}", "{end} without {range}"),
            ("{.items[}", ".items[: [ without ]"),
            ("{.items[?]}", ".items[?]: "),
        ] {
            let error = Template::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn columns_are_those_that_are_named() {
        let columns = CustomColumns::parse("NAME:.name,SIZE:{.size},USED:.used[0,1],OS:.tags.os");
        let table = columns.expect("they are columns").table(&answer()).to_string();
        assert_eq!(
            table,
            "NAME   SIZE   USED     OS\na      1      x,y      <none>\nb      20     <none>   <none>\n"
        );
        let one =
            CustomColumns::parse("KIND:kind").expect("a column").table(&json!({"kind": "One"}));
        assert_eq!(one.to_string(), "KIND\nOne\n");
        for text in ["", "NAME", "NAME:", ":.name", "NAME:.name,"] {
            CustomColumns::parse(text).expect_err(text);
        }
    }
}
