//! The sentence on a variant: its parts, and what is counted from the fields for it.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Fields, LitStr, Token, Variant};

/// A verb of Go's `fmt`.
#[derive(Clone, Copy)]
pub enum Verb {
    /// `%v` and `%s`.
    Value,
    /// `%q`.
    Quoted,
    /// `%d`.
    Number,
}

impl Verb {
    pub fn tokens(self) -> TokenStream {
        match self {
            Self::Value => quote!(::kq_answer::reason::Verb::Value),
            Self::Quoted => quote!(::kq_answer::reason::Verb::Quoted),
            Self::Number => quote!(::kq_answer::reason::Verb::Number),
        }
    }
}

/// A part of a sentence.
pub enum Part {
    Text(String),
    /// A field or an argument.
    Field(Ident, Option<Verb>),
}

/// A variant with its sentence.
pub struct Sentence<'v> {
    pub variant: &'v Ident,
    pub fields: Vec<&'v Ident>,
    pub parts: Vec<Part>,
    /// What is computed of the fields.
    pub arguments: Vec<(Ident, Expr)>,
}

impl<'v> Sentence<'v> {
    pub fn of(variant: &'v Variant) -> syn::Result<Self> {
        if matches!(variant.fields, Fields::Unnamed(_)) {
            return Err(Error::new_spanned(variant, "a fact of a reason has a name"));
        }
        let mut texts = variant.attrs.iter().filter(|it| it.path().is_ident("text"));
        let (Some(text), None) = (texts.next(), texts.next()) else {
            return Err(Error::new_spanned(variant, "a reason has one sentence: #[text(\"...\")]"));
        };
        let Written { text, arguments } = text.parse_args()?;
        let fields = variant.fields.iter().filter_map(|field| field.ident.as_ref()).collect();
        Ok(Self { variant: &variant.ident, fields, parts: parts(&text)?, arguments })
    }
}

impl Sentence<'_> {
    /// Returns the text of a sentence that names no field.
    pub fn plain(&self) -> Option<String> {
        match self.parts.as_slice() {
            [Part::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }
}

/// The content of the attribute.
struct Written {
    text: LitStr,
    arguments: Vec<(Ident, Expr)>,
}

impl Parse for Written {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (text, mut arguments) = (input.parse()?, Vec::new());
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                arguments.push((name, input.parse()?));
            }
        }
        Ok(Self { text, arguments })
    }
}

/// Returns the parts of a sentence; two braces stand for one.
fn parts(text: &LitStr) -> syn::Result<Vec<Part>> {
    let mut parts = Vec::new();
    let (mut plain, whole) = (String::new(), text.value());
    let mut rest = whole.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if !matches!(c, '{' | '}') || rest.starts_with(c) {
            rest = if matches!(c, '{' | '}') { &rest[1..] } else { rest };
            plain.push(c);
            continue;
        }
        let (field, after) = rest
            .split_once('}')
            .filter(|_| c == '{')
            .ok_or_else(|| Error::new_spanned(text, "a brace has no other one"))?;
        rest = after;
        if !plain.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut plain)));
        } else if !parts.is_empty() {
            return Err(Error::new_spanned(text, "a message cannot say where such a field ends"));
        }
        parts.push(field_of(field, text)?);
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    Ok(parts)
}

/// Returns the part for `name` or `name:%q`.
fn field_of(field: &str, text: &LitStr) -> syn::Result<Part> {
    let (name, verb) = field.split_once(':').unwrap_or((field, ""));
    let verb = match verb {
        "" => None,
        "%v" | "%s" => Some(Verb::Value),
        "%q" => Some(Verb::Quoted),
        "%d" => Some(Verb::Number),
        _ => return Err(Error::new_spanned(text, "Go's verbs are here %q, %s, %v and %d")),
    };
    let name = syn::parse_str::<Ident>(name)
        .map_err(|_| Error::new_spanned(text, format!("{name:?} is not the name of a field")))?;
    Ok(Part::Field(Ident::new(&name.to_string(), text.span()), verb))
}

/// Returns the name of a field as JSON has it.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(usize::from(!word.is_empty()));
        text.push_str(&first.to_ascii_uppercase());
        text.push_str(rest);
    }
    text
}
