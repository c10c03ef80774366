use super::browser::{Browser, browser};
use super::{STORY, Written};
use serde_json::{Value, json};

const SEEN: &str =
    "[...document.querySelectorAll('tbody tr')].filter((it) => it.getClientRects().length).length";

fn search(browser: &mut Browser) -> Value {
    browser.value("document.querySelector('#search').value")
}

#[test]
fn the_filter_hides_rows_and_dims_marks() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.look(1400, false);
    browser.open(&page.file());
    let all = browser.value(SEEN).as_u64().expect("rows");
    browser.press("/");
    assert_eq!(browser.value("document.activeElement.id"), json!("search"));
    browser.write("checkout");
    let left = browser.value(SEEN).as_u64().expect("rows");
    assert!(left > 5 && left < all / 2, "{left} of {all} rows");
    let others = browser.value("[...document.querySelectorAll('tbody tr')].filter((it) => it.getClientRects().length \
                                && !(it.textContent + (it.dataset.pod || '')).includes('checkout')).length");
    assert_eq!(others, json!(0));
    let dim =
        "getComputedStyle(document.querySelector('#cpu .pic [data-pod=\"ml/train-0\"]')).opacity";
    assert_eq!(browser.value(dim), json!("0.16"));
    let clear = "getComputedStyle(document.querySelector('#cpu .pic [data-pod=\"shop/checkout-6d5f7\"]')).opacity";
    assert_eq!(browser.value(clear), json!("1"));
    assert!(
        browser
            .value("document.querySelector('#hits').textContent")
            .as_str()
            .is_some_and(|it| it.ends_with("rows match"))
    );
    browser.press("Escape");
    assert_eq!(search(&mut browser), json!(""));
    assert_eq!(browser.value(SEEN), json!(all));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_keyboard_goes_through_sections_and_marks() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.look(1400, false);
    browser.open(&page.file());
    let at = "document.activeElement.closest('section')?.id";
    browser.press("j");
    assert_eq!(browser.value(at), json!("findings"));
    browser.press("j");
    assert_eq!(browser.value(at), json!("cpu"));
    browser.press("k");
    assert_eq!(browser.value(at), json!("findings"));
    browser.value("document.querySelector('#cpu .pic').focus()");
    browser.press("ArrowRight");
    browser.press("ArrowDown");
    let current = browser.value("document.querySelectorAll('.cur').length");
    assert_eq!(current, json!(1));
    for _ in 0..3 {
        browser.press("ArrowDown");
    }
    let said = browser.value("document.querySelector('#live').textContent");
    assert!(said.as_str().is_some_and(|it| it.contains("CPU time: ")), "{said}");
    assert_eq!(browser.value("document.querySelector('#tip').hidden"), json!(false));
    let pod = browser.value("document.querySelector('.cur').dataset.pod");
    browser.press("Enter");
    assert_eq!(search(&mut browser), pod);
    browser.press("Escape");
    assert_eq!(browser.value("document.querySelectorAll('.cur').length"), json!(0));
    browser.press("Escape");
    assert_eq!(search(&mut browser), json!(""));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_click_follows_a_pod_and_the_theme_can_be_chosen() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.look(1400, false);
    browser.open(&page.file());
    browser.click("#memory .pic [data-of][data-pod='ml/train-0']");
    assert_eq!(search(&mut browser), json!("ml/train-0"));
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(ground);
    browser.click("#theme");
    assert_eq!(browser.value(ground), light, "light, as the system is");
    browser.click("#theme");
    assert_ne!(browser.value(ground), light);
    browser.click("#keys");
    assert_eq!(browser.value("document.querySelector('#help').open"), json!(true));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
