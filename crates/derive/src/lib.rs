//! `#[derive(Reason)]`: an enum whose variants have their sentences on them.
//!
//! ```ignore
//! #[derive(Reason)]
//! #[reason(tag = "id", case = "kebab-case")]
//! enum StartRule {
//!     /// A flag with a value of the wrong type.
//!     #[text("invalid argument {value:%q} for \"--{flag}\" flag: {reason}")]
//!     FlagValue { flag: String, value: String, reason: String },
//!     /// Labels of a domain.
//!     #[text("unknown labels: {labels}", labels = labels.join(", "))]
//!     UnknownLabels { labels: Vec<String> },
//!     /// Pods are killed.
//!     #[text(pods: 1 => "one pod is killed")]
//!     #[text("{pods} pods are killed")]
//!     Kills { pods: usize },
//! }
//! ```
//!
//! A variant with several sentences has the first one that holds: before `=>` are patterns of fields, a guard (`if ...`), or
//! both. `{0}` is the fact of a variant that has one without a name. An expression in place of a sentence makes the whole
//! text.
//!
//! With `#[reason(plain)]`, JSON is the code alone. A variant without a description has its sentence for one in the schema.
//!
//! The derive makes the text (`Display`), the code, JSON and schema of it, and the templates by which a message is
//! recognised; `kq_answer::reason` has what these rest on. JSON is that of serde with a tag, whose attributes of fields hold
//! here as well. A sentence names fields as `format!` does, with the verbs of Go's `fmt` where Go made the text; what is no
//! field is an argument after it.

mod sentence;
mod wording;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use sentence::{Part, Sentence, Sentences};
use syn::{Attribute, Data, DeriveInput, Error, LitStr, Variant};

/// Makes text, code, JSON, schema and templates of an enum.
#[proc_macro_derive(Reason, attributes(reason, text, serde, schemars))]
pub fn reason(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes the sentences of the rules of findings: `kq_answer::Sentences`.
///
/// A variant has what was found, `#[text(...)]`, and, where there are such, `#[why(...)]`, `#[leads_to(...)]`, `#[advice(...)]` and
/// `#[command(...)]`, all written as those of a reason; or `#[wording(...)]`, an expression that has them all.
#[proc_macro_derive(Wording, attributes(text, why, leads_to, advice, command, wording))]
pub fn wording(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    wording::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a reason is an enum"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a reason owns its facts"));
    }
    let form = Form::of(&input.attrs)?;
    let sentences = data.variants.iter().map(Sentences::texts).collect::<syn::Result<Vec<_>>>()?;
    let name = &input.ident;
    let (texts, codes, templates): (Vec<_>, Vec<_>, Vec<_>) = (
        sentences.iter().flat_map(texts).collect(),
        sentences.iter().map(|it| code(it.variant, &form)).collect(),
        sentences.iter().flat_map(|it| templates(it, &form)).collect(),
    );
    let written = written(input, data.variants.iter(), &form);
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables)]
        impl ::core::fmt::Display for #name {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self { #(#texts)* }
                ::core::result::Result::Ok(())
            }
        }

        #[automatically_derived]
        impl ::kq_answer::reason::Reason for #name {
            const TEMPLATES: &'static [::kq_answer::reason::Template] = &[#(#templates),*];

            fn code(&self) -> &'static str {
                match self { #(#codes)* }
            }
        }

        #written
    })
}

/// The form of the JSON.
struct Form {
    /// The name of the field that has the code; `None`: JSON is the code alone.
    tag: Option<String>,
    /// How a code is spelled, as serde calls it.
    case: String,
}

impl Form {
    fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut form = Self { tag: Some("code".to_owned()), case: "camelCase".to_owned() };
        for attribute in attributes.iter().filter(|it| it.path().is_ident("reason")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("plain") {
                    form.tag = None;
                    return Ok(());
                }
                let value = meta.value()?.parse::<LitStr>()?;
                match value.value() {
                    tag if meta.path.is_ident("tag") => form.tag = Some(tag),
                    case if meta.path.is_ident("case")
                        && matches!(case.as_str(), "camelCase" | "kebab-case" | "PascalCase") =>
                    {
                        form.case = case;
                    }
                    _ => {
                        return Err(meta.error(
                            "plain, a tag, or the case: camelCase, kebab-case or PascalCase",
                        ));
                    }
                }
                Ok(())
            })?;
        }
        Ok(form)
    }

    /// Returns the code of a variant, as serde makes it.
    fn code(&self, variant: &str) -> String {
        if self.case == "PascalCase" {
            return variant.to_owned();
        }
        let is_kebab = self.case == "kebab-case";
        let mut code = String::new();
        for (at, c) in variant.char_indices() {
            if is_kebab && at > 0 && c.is_ascii_uppercase() {
                code.push('-');
            }
            code.push(if at == 0 || is_kebab { c.to_ascii_lowercase() } else { c });
        }
        code
    }
}

/// Returns the arms that write the sentences of a variant.
fn texts(sentences: &Sentences) -> Vec<TokenStream> {
    sentences.arms(|sentence| {
        let (arguments, parts) = sentence.writer();
        quote!({ #arguments #parts })
    })
}

/// Returns the arm with a code.
fn code(variant: &Ident, form: &Form) -> TokenStream {
    let code = form.code(&variant.to_string());
    quote!(Self::#variant { .. } => #code,)
}

/// Returns the templates of the sentences of a variant.
fn templates(sentences: &Sentences, form: &Form) -> Vec<TokenStream> {
    let code = form.code(&sentences.variant.to_string());
    let template = |sentence: &Sentence| {
        let parts = sentence.parts.iter().map(|part| match part {
            Part::Text(text) => quote!(::kq_answer::reason::Part::Text(#text)),
            Part::Field(name, verb) => {
                let name = sentence::camel_case(&name.to_string());
                let verb = verb.unwrap_or(sentence::Verb::Value).tokens();
                quote!(::kq_answer::reason::Part::Field(#name, #verb))
            }
        });
        quote!(::kq_answer::reason::Template { code: #code, parts: &[#(#parts),*] })
    };
    sentences.all.iter().map(template).collect()
}

/// Returns JSON and schema: those that serde and schemars make of a copy without the sentences.
fn written<'v>(
    input: &DeriveInput,
    variants: impl Iterator<Item = &'v Variant>,
    form: &Form,
) -> TokenStream {
    let is_kept = |it: &Attribute| {
        let mut own = ["reason", "default"].iter().chain(&wording::ATTRIBUTES);
        !own.any(|own| it.path().is_ident(own))
    };
    let variants = variants.cloned().map(|mut variant| {
        let is_described = variant.attrs.iter().any(|it| it.path().is_ident("doc"));
        let text = Sentences::texts(&variant).ok().and_then(|it| it.plain());
        variant.attrs.retain(is_kept);
        if let (false, Some(text)) = (is_described, text) {
            variant.attrs.push(syn::parse_quote!(#[doc = #text]));
        }
        variant
    });
    let others = input.attrs.iter().filter(|it| is_kept(it));
    let (name, Form { tag, case }) = (&input.ident, form);
    let tag = tag.iter().map(|tag| quote!(tag = #tag,));
    let text = name.to_string();
    quote! {
        const _: () = {
            #[derive(::serde::Serialize, ::schemars::JsonSchema)]
            #[serde(remote = #text, #(#tag)* rename_all = #case, rename_all_fields = "camelCase")]
            #[schemars(rename = #text)]
            #[allow(dead_code)]
            #(#others)*
            enum Written { #(#variants),* }

            impl ::serde::Serialize for #name {
                fn serialize<S: ::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::core::result::Result<S::Ok, S::Error> {
                    Written::serialize(self, serializer)
                }
            }

            impl ::schemars::JsonSchema for #name {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    Written::schema_name()
                }

                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    ::core::concat!(::core::module_path!(), "::", #text).into()
                }

                fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                    Written::json_schema(generator)
                }
            }
        };
    }
}
