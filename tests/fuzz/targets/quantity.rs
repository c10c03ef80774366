//! Whatever the two texts, computing with their amounts ends without a panic, and what is printed
//! parses to the same amount and text.
#![cfg_attr(fuzzing, no_main)]

use kq_k8s::quantity::{Format, Quantity};
use std::cmp::Ordering;

kq_fuzz::fuzz_target!(|text: &str| {
    let (left, right) = text.split_once(' ').unwrap_or((text, text));
    let (Ok(left), Ok(right)) = (left.parse::<Quantity>(), right.parse::<Quantity>()) else {
        return;
    };
    let order = left.compare(&right);
    assert_eq!(right.compare(&left), order.reverse());
    let mut sum = left.clone();
    sum += &right;
    let mut difference = left.clone();
    difference -= &right;
    let mut rounded = left.clone();
    rounded.round_up_to_milli();
    let mut larger = left.clone();
    larger.max_with(&right);
    assert_ne!(larger.compare(&right), Ordering::Less);
    for quantity in [&left, &right, &sum, &difference, &rounded, &larger] {
        use_up(quantity);
    }
    if order.is_eq() {
        assert_eq!(difference.sign(), 0);
    }
    let mut twice = rounded.clone();
    twice.round_up_to_milli();
    assert!(twice.compare(&rounded).is_eq());
    print_and_parse(&left);
});

/// Asks for everything that a quantity can be asked.
fn use_up(quantity: &Quantity) {
    let (value, milli) = (quantity.value(), quantity.milli_value());
    if quantity.value_is_exact() && value != 0 {
        assert_eq!(value.signum(), i64::from(quantity.sign()));
    }
    if quantity.milli_value_is_exact() && milli != 0 {
        assert_eq!(milli.signum(), i64::from(quantity.sign()));
    }
    if let Some(units) = quantity.as_units() {
        let again = Quantity::from_units(units, Format::DecimalSi);
        assert!(again.compare(quantity).is_eq());
    }
    assert!(!quantity.canonical().is_empty());
    let _ = quantity.go_struct();
}

/// Checks that a quantity survives its text, unless it is so large that Kubernetes has no suffix for
/// it or its exponent could wrap.
fn print_and_parse(quantity: &Quantity) {
    let limit = match quantity.format() {
        Format::DecimalExponent => "1e1000",
        Format::Unset | Format::DecimalSi | Format::BinarySi => "1e21",
    };
    let limit: Quantity = limit.parse().expect("the limit is a quantity");
    let mut negated = Quantity::default();
    negated -= &limit;
    if quantity.compare(&limit).is_ge() || quantity.compare(&negated).is_le() {
        return;
    }
    let printed = quantity.to_string();
    let again: Quantity = printed.parse().expect("what is printed is a quantity");
    assert!(again.compare(quantity).is_eq(), "{printed:?}");
    assert_eq!(again.to_string(), printed);
}
