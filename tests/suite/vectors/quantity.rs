//! Quantities: text to amount, arithmetic, printing.

use kq_k8s::quantity::Quantity;
use serde_json::{Value, json};

pub fn answer(input: &Value) -> Value {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    let parsed = |key: &str| text(key).parse::<Quantity>();
    let result = match text("op") {
        "parse" => parsed("text").map(|quantity| describe(&quantity)),
        "parse_json" => {
            Quantity::from_json_token(text("json_text")).map(|quantity| describe(&quantity))
        }
        "compare" => parsed("left")
            .and_then(|left| Ok(json!({ "ordering": left.compare(&parsed("right")?) as i32 }))),
        "add" | "subtract" => parsed("left").and_then(|mut left| {
            match text("op") {
                "add" => left += &parsed("right")?,
                _ => left -= &parsed("right")?,
            }
            Ok(describe(&left))
        }),
        "sum" => {
            let terms = input["terms"].as_array().into_iter().flatten();
            terms
                .map(|term| term.as_str().unwrap_or_default().parse::<Quantity>())
                .try_fold(Quantity::default(), |mut sum, term| {
                    sum += &term?;
                    Ok(sum)
                })
                .map(|sum| describe(&sum))
        }
        other => return json!({ "error": format!("unknown op {other}") }),
    };
    result.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

fn describe(quantity: &Quantity) -> Value {
    let mut out = json!({
        "format": quantity.format().as_str(),
        "milli_value": quantity.milli_value(),
        "sign": quantity.sign(),
        "text_form": quantity.to_string(),
        "value": quantity.value(),
    });
    if quantity.canonical() != quantity.to_string() {
        out["canonical"] = quantity.canonical().into();
    }
    if !quantity.value_is_exact() {
        out["value_differs_from_exact"] = true.into();
    }
    if !quantity.milli_value_is_exact() {
        out["milli_value_differs_from_exact"] = true.into();
    }
    out
}
