use super::browser::browser;
use super::{Written, worker};
use serde_json::json;

/// Names that a hostile user gives to pods, containers, images and devices.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "<script>window.ran = 1</script>",
        "</script><script>window.ran = 1</script>",
        "\"><img src=x onerror=window.ran=1>",
        "' onmouseover='window.ran=1",
        "<!--<script>",
        "</title></style></svg><h1>x</h1>",
        "<script type=\"application/zstd\" id=\"snapshot\">AAAA</script>",
        "&lt;b&gt;&amp;",
        "a\u{202e}b\u{2066}c\u{200b}d\u{2028}e",
        "javascript:window.ran=1",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(10_000));
    names
}

#[test]
fn hostile_names_do_not_run_and_do_not_break_the_page() {
    let Some(mut browser) = browser() else { return };
    for (at, name) in names().iter().enumerate() {
        let mut snapshot = worker().to_string();
        let quoted = serde_json::to_string(name).expect("a text");
        let inner = quoted.trim_matches('"');
        // Each is the name of a pod, of a container, of an image, of a device and of a resource.
        for old in
            ["checkout-6d5f7", "\"train\"", "shop.example/report:9", "gpu-1", "example.com/gpu"]
        {
            let new = if old.starts_with('"') { quoted.clone() } else { inner.to_owned() };
            snapshot = snapshot.replace(old, &new);
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("node.json");
        std::fs::write(&file, &snapshot).expect("a file can be written");
        let page = Written::of(&format!("--snapshot {}", file.display()));
        let text = page.text();
        assert!(
            !text.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}']),
            "{at}: hidden characters are escaped"
        );
        for width in [1400, 400] {
            browser.look(width, false);
            browser.open(&page.file());
            assert_eq!(browser.complaints(), Vec::<String>::new(), "name {at}");
            assert_eq!(browser.value("window.ran === undefined"), json!(true), "name {at} ran");
            assert_eq!(
                browser.value(
                    "document.scripts.length - document.querySelectorAll('script[type]').length"
                ),
                json!(1),
                "name {at}"
            );
            let sections = browser.value("document.querySelectorAll('main > section').length");
            assert_eq!(sections, json!(10), "name {at} ends no section");
            assert_eq!(
                browser.value("document.documentElement.scrollWidth"),
                json!(width),
                "name {at} at {width}"
            );
        }
        // Moving over every mark, and filtering by each, runs nothing either.
        browser.value("document.querySelectorAll('.pic [data-of]').forEach((it) => it.dispatchEvent(new MouseEvent('mousemove', {bubbles: true})))");
        browser.value("document.querySelectorAll('.pic [data-of]').forEach((it) => it.dispatchEvent(new MouseEvent('click', {bubbles: true})))");
        assert_eq!(browser.value("window.ran === undefined"), json!(true), "name {at} ran");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "name {at}");
    }
}
