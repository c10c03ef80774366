//! The sentences of a finding on the variants of its rule.

use crate::sentence::{Sentence, Sentences};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Variant};

/// Where the sentences stand.
pub const ATTRIBUTES: [&str; 6] = ["text", "why", "leads_to", "advice", "command", "wording"];

pub fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "the rules are an enum"));
    };
    let (others, own): (Vec<_>, Vec<_>) = data.variants.iter().partition(|it| has_wording(it));
    let others = others.into_iter().map(other).collect::<syn::Result<Vec<_>>>()?;
    own.iter().try_for_each(|variant| Sentences::texts(variant).map(drop))?;
    let sentences = |attribute| sentences(&own, attribute);
    let (found, why, leads_to) = (sentences("text")?, sentences("why")?, sentences("leads_to")?);
    let (advice, command) = (sentences("advice")?, sentences("command")?);
    let (name, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables, unreachable_patterns)]
        impl #generics ::kq_answer::Sentences for #name #arguments #bounds {
            fn sentences(&self) -> ::kq_answer::Wording {
                match self {
                    #(#others)*
                    _ => ::kq_answer::Wording {
                        found: #found.unwrap_or_default(),
                        why: #why,
                        leads_to: #leads_to,
                        advice: #advice,
                        command: #command,
                    },
                }
            }
        }
    })
}

fn has_wording(variant: &Variant) -> bool {
    variant.attrs.iter().any(|it| it.path().is_ident("wording"))
}

/// Returns the arm of a variant whose sentences are made elsewhere.
fn other(variant: &Variant) -> syn::Result<TokenStream> {
    let mut wordings = variant.attrs.iter().filter(|it| it.path().is_ident("wording"));
    let wording = wordings.next().map(|it| it.parse_args::<TokenStream>()).transpose()?;
    let whole = Sentences::whole(variant);
    Ok(quote!(#whole => #wording,))
}

/// Returns the expression of the sentences of a kind; `None`: a variant has none.
fn sentences(variants: &[&Variant], attribute: &str) -> syn::Result<TokenStream> {
    let body = |sentence: &Sentence| {
        let (arguments, parts) = sentence.writer();
        quote!({
            #arguments
            let text = ::std::fmt::from_fn(|__f| {
                #parts
                ::core::result::Result::Ok(())
            });
            ::core::option::Option::Some(::std::string::ToString::to_string(&text))
        })
    };
    let mut arms = Vec::new();
    for variant in variants {
        arms.extend(Sentences::of(variant, attribute)?.arms(body));
    }
    Ok(quote!(match self {
        #(#arms)*
        _ => ::core::option::Option::None,
    }))
}
