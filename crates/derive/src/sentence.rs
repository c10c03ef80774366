//! The sentences on a variant: when each holds, its parts, and what is counted from the fields for it.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{End, ParseStream, Parser};
use syn::{Attribute, Error, Fields, Index, LitStr, Member, Token, Variant};

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

/// A sentence, and the values of the fields for which it stands.
pub struct Sentence {
    /// A field, and its pattern.
    patterns: Vec<(Member, TokenStream)>,
    /// `if ...`
    guard: TokenStream,
    pub parts: Vec<Part>,
    /// What is computed of the fields.
    pub arguments: Vec<(Ident, TokenStream)>,
}

/// A variant with its sentences; the first one that holds is its text.
pub struct Sentences<'v> {
    pub variant: &'v Ident,
    fields: Vec<Member>,
    pub all: Vec<Sentence>,
}

impl<'v> Sentences<'v> {
    /// Reads `#[text(...)]`.
    pub fn texts(variant: &'v Variant) -> syn::Result<Self> {
        let texts = Self::of(variant, "text")?;
        match texts.all.is_empty() {
            true => Err(Error::new_spanned(variant, "a sentence is missing: #[text(\"...\")]")),
            false => Ok(texts),
        }
    }

    /// Reads the sentences of a kind, which a variant need not have.
    pub fn of(variant: &'v Variant, attribute: &str) -> syn::Result<Self> {
        if matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() > 1) {
            return Err(Error::new_spanned(variant, "a fact of a reason has a name"));
        }
        let texts = variant.attrs.iter().filter(|it| it.path().is_ident(attribute));
        let all = texts.map(Sentence::of).collect::<syn::Result<Vec<_>>>()?;
        let fields = variant.fields.members().collect();
        Ok(Self { variant: &variant.ident, fields, all })
    }

    /// Returns the text of the only sentence, if it names no field.
    pub fn plain(&self) -> Option<String> {
        match self.all.as_slice() {
            [Sentence { parts, .. }] => match parts.as_slice() {
                [Part::Text(text)] => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the pattern of a variant with all of its fields.
    pub fn whole(variant: &'v Variant) -> TokenStream {
        let fields = variant.fields.members().collect();
        Self { variant: &variant.ident, fields, all: Vec::new() }.pattern(&[], &TokenStream::new())
    }

    /// Returns the arms of a match, one for each sentence; `body` makes what stands behind the arrow.
    pub fn arms(&self, body: impl Fn(&Sentence) -> TokenStream) -> Vec<TokenStream> {
        let arm = |sentence: &Sentence| {
            let (pattern, body) =
                (self.pattern(&sentence.patterns, &sentence.guard), body(sentence));
            quote!(#pattern => #body)
        };
        self.all.iter().map(arm).collect()
    }

    fn pattern(&self, patterns: &[(Member, TokenStream)], guard: &TokenStream) -> TokenStream {
        let variant = self.variant;
        let fields = self.fields.iter().map(|field| {
            let chosen = patterns.iter().find(|(it, _)| it == field);
            match (chosen, field) {
                (Some((_, pattern)), _) => quote!(#field: #pattern),
                (None, Member::Named(name)) => quote!(#name),
                (None, Member::Unnamed(index)) => {
                    let name = unnamed(index);
                    quote!(#index: #name)
                }
            }
        });
        // A pattern of a field that is not there is an error of the compiler.
        let others = patterns.iter().filter(|(it, _)| !self.fields.contains(it));
        let others = others.map(|(field, pattern)| quote!(#field: #pattern));
        let fields = fields.chain(others);
        quote!(Self::#variant { #(#fields),* } #guard)
    }
}

impl Sentence {
    /// Returns the statements that write it to `__f`, after those that compute its arguments.
    pub fn writer(&self) -> (TokenStream, TokenStream) {
        let arguments = self.arguments.iter().map(|(name, value)| quote!(let #name = #value;));
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => quote!(__f.write_str(#text)?;),
            Part::Field(name, None) => quote!(::kq_answer::reason::write_fact(&#name, __f)?;),
            Part::Field(name, Some(verb)) => {
                let verb = verb.tokens();
                quote!(::kq_answer::reason::GoArgument::write(&#name, #verb, __f)?;)
            }
        });
        (quote!(#(#arguments)*), quote!(#(#parts)*))
    }
}

/// Returns the name that stands for `{0}`.
fn unnamed(index: &Index) -> Ident {
    format_ident!("_{}", index.index)
}

impl Sentence {
    /// Reads `"text", name = expression`, or an expression that makes the whole text; before it `field: pattern if guard =>`.
    fn of(attribute: &Attribute) -> syn::Result<Self> {
        let tokens = attribute.parse_args::<TokenStream>()?;
        let is_condition = has_arrow(tokens.clone());
        (|input: ParseStream<'_>| Self::parse(input, is_condition)).parse2(tokens)
    }

    fn parse(input: ParseStream<'_>, mut is_condition: bool) -> syn::Result<Self> {
        let (mut patterns, mut guard) = (Vec::new(), TokenStream::new());
        while is_condition {
            if !input.peek(Token![if]) {
                let field = input.parse()?;
                input.parse::<Token![:]>()?;
                let is_end = |it: ParseStream<'_>| it.peek(Token![,]) || it.peek(Token![if]);
                patterns.push((field, tokens(input, |it| is_end(it) || it.peek(Token![=>]))?));
            }
            if input.peek(Token![if]) {
                guard = tokens(input, |it| it.peek(Token![=>]))?;
            }
            is_condition = input.peek(Token![,]);
            match is_condition {
                true => drop(input.parse::<Token![,]>()?),
                false => drop(input.parse::<Token![=>]>()?),
            }
        }
        if !input.peek(LitStr) {
            let (name, whole) = (Ident::new("whole", input.span()), tokens(input, |_| false)?);
            let parts = vec![Part::Field(name.clone(), None)];
            return Ok(Self { patterns, guard, parts, arguments: vec![(name, whole)] });
        }
        let (text, mut arguments) = (input.parse::<LitStr>()?, Vec::new());
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                arguments.push((name, tokens(input, is_next_argument)?));
            }
        }
        let parts = parts(&text)?;
        let is_fact = |part: &Part| match part {
            Part::Text(_) => false,
            Part::Field(name, _) => !arguments.iter().any(|(argument, _)| argument == name),
        };
        match parts.windows(2).any(|pair| pair.iter().all(is_fact)) {
            true => Err(Error::new_spanned(text, "a message cannot say where such a field ends")),
            false => Ok(Self { patterns, guard, parts, arguments }),
        }
    }
}

/// Returns true if an arrow is outside of parentheses and braces.
fn has_arrow(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |token: &TokenTree, c| matches!(token, TokenTree::Punct(it) if it.as_char() == c);
    tokens.windows(2).any(|pair| is(&pair[0], '=') && is(&pair[1], '>'))
}

/// Returns true at `, name =`, and at a comma that is the last token.
fn is_next_argument(input: ParseStream<'_>) -> bool {
    let is_named = input.peek2(syn::Ident) && input.peek3(Token![=]);
    input.peek(Token![,]) && (is_named || input.peek2(End))
}

/// Returns the tokens before the end of an expression or a pattern: the compiler says what is wrong with them.
fn tokens(
    input: ParseStream<'_>,
    is_end: impl Fn(ParseStream<'_>) -> bool,
) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !is_end(input) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    match tokens.is_empty() {
        true => Err(input.error("an expression or a pattern is missing")),
        false => Ok(tokens),
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
    let name = match syn::parse_str::<Member>(name) {
        Ok(Member::Named(name)) => Ident::new(&name.to_string(), text.span()),
        Ok(Member::Unnamed(index)) => unnamed(&index),
        Err(_) => {
            let error = format!("{name:?} is not the name of a field");
            return Err(Error::new_spanned(text, error));
        }
    };
    Ok(Part::Field(name, verb))
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
