use super::browser::browser;
use super::{STORY, Written};
use crate::cli::repository;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const SECTIONS: [&str; 11] = [
    "findings",
    "cpu",
    "memory",
    "images",
    "devices",
    "probes",
    "eviction",
    "preemption",
    "restart",
    "what-if",
    "facts",
];

#[test]
fn every_section_is_drawn_in_every_look_and_nothing_is_loaded() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    let mut grounds = Vec::new();
    for (width, is_dark) in [(1400, false), (1400, true), (400, false), (400, true)] {
        browser.look(width, is_dark);
        browser.open(&page.file());
        let look = format!("{width} pixels, dark: {is_dark}");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{look}");
        let seen = browser.value("[...document.querySelectorAll('main > section')].map((it) => [it.id, it.offsetHeight])");
        let seen: Vec<(String, u32)> = serde_json::from_value(seen).expect("sections");
        assert_eq!(seen.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), SECTIONS, "{look}");
        assert!(seen.iter().all(|(_, height)| *height > 100), "{look}: {seen:?}");
        let empty = "[...document.querySelectorAll('.pic')].filter((it) => !it.closest('details:not([open])') \
                     && !it.querySelector('[data-of]')).length";
        assert_eq!(browser.value(empty), json!(0), "{look}: a picture without marks");
        let widest = browser.value("document.documentElement.scrollWidth");
        assert_eq!(widest, json!(width), "{look}: the page scrolls sideways");
        let wide = "(() => { document.querySelectorAll('details').forEach((it) => { it.open = true; }); \
                    return [...document.querySelectorAll('.scroll')].filter((it) => it.scrollWidth > it.clientWidth) \
                    .map((it) => it.getAttribute('aria-label') + ' ' + it.scrollWidth + ' of ' + it.clientWidth); })()";
        assert_eq!(browser.value(wide), json!([]), "{look}: tables that scroll sideways");
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert!(
        grounds[0] == grounds[2] && grounds[1] == grounds[3] && grounds[0] != grounds[1],
        "{grounds:?}"
    );
}

#[test]
fn tables_have_captions_and_headings_and_links_lead_somewhere() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.open(&page.file());
    let wrong = "[...document.querySelectorAll('table')].filter((it) => !it.caption?.textContent \
                 || !it.querySelector('thead th[scope=col]')).map((it) => it.textContent.slice(0, 40))";
    assert_eq!(browser.value(wrong), json!([]));
    let dead = "[...document.querySelectorAll('a[href^=\"#\"]')].filter((it) => !document.getElementById(it.hash.slice(1))).map((it) => it.hash)";
    assert_eq!(browser.value(dead), json!([]));
    let unnamed = "[...document.querySelectorAll('.pic, nav, input, dialog, [role=region]')].filter((it) => \
                   !it.getAttribute('aria-label') && !it.getAttribute('aria-labelledby')).length";
    assert_eq!(browser.value(unnamed), json!(0));
    let twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map((it) => it.id); \
                 return ids.filter((id, at) => ids.indexOf(id) !== at); })()";
    assert_eq!(browser.value(twice), json!([]));
    let styled = browser.value(
        "document.querySelectorAll('[style], [onclick], [onload], link, img, iframe').length",
    );
    assert_eq!(styled, json!(0));
}

#[test]
fn words_stand_out_from_their_ground() {
    // The ratio of WCAG 2: at least 4.5 for text.
    const CONTRAST: &str = r#"(() => {
        const light = (text) => {
            const [r, g, b] = text.match(/[\d.]+/g).slice(0, 3).map((it) => it / 255)
                .map((it) => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = (it) => {
            for (; it; it = it.parentElement) {
                const color = getComputedStyle(it).backgroundColor;
                if (!color.endsWith(", 0)")) return color;
            }
            return "rgb(255, 255, 255)";
        };
        const low = [];
        for (const it of document.querySelectorAll("main p, main td, main th, main span, main a, main dd, main dt, main code, nav a, .state, summary")) {
            if (!it.textContent.trim() || !it.getClientRects().length) continue;
            const [one, other] = [light(getComputedStyle(it).color), light(ground(it))];
            const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            if (ratio < 4.5) low.push(it.className + " " + it.textContent.slice(0, 20) + " " + ratio.toFixed(2));
        }
        for (const it of document.querySelectorAll(".cell > text")) {
            const rect = it.parentElement.querySelector("rect");
            const [one, other] = [light(getComputedStyle(it).fill), light(getComputedStyle(rect).fill === "none" ? ground(it.closest(".pic")) : getComputedStyle(rect).fill)];
            const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            if (ratio < 4.5) low.push("cell " + it.textContent + " " + ratio.toFixed(2));
        }
        return low;
    })()"#;
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    for is_dark in [false, true] {
        browser.look(1400, is_dark);
        browser.open(&page.file());
        assert_eq!(browser.value(CONTRAST), json!([]), "dark: {is_dark}");
    }
}

#[test]
fn the_page_looks_as_it_did() {
    /// So many pixels may differ: other versions of fonts.
    const TOLERANCE: f64 = 0.06;
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    let overwrites = std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite");
    for (name, selector, width, is_dark) in [
        ("report-cpu", "#cpu", 1000, false),
        ("report-images", "#images", 1000, false),
        ("report-probes", "#probes", 1000, true),
        ("report-eviction", "#eviction", 400, true),
    ] {
        browser.look(width, is_dark);
        browser.open(&page.file());
        // The pictures, without the tables.
        browser.value(
            "document.querySelectorAll('details.rows').forEach((it) => { it.open = false; })",
        );
        let taken = browser.picture(selector);
        let file = repository().join(format!("docs/images/{name}.png"));
        if overwrites {
            let bytes = STANDARD.decode(&taken).expect("base64");
            std::fs::write(&file, bytes).expect("the picture can be written");
            continue;
        }
        let kept = std::fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let differ = browser.difference(&STANDARD.encode(kept), &taken);
        assert!(
            differ <= TOLERANCE,
            "{name}: {:.1} % of the pixels differ: look at it, and SNAPSHOTS=overwrite",
            differ * 100.0
        );
    }
}

#[test]
fn several_nodes_share_a_page() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    for node in ["worker-3", "worker-4"] {
        let mut snapshot = super::worker();
        snapshot["nodeName"]["found"]["value"] = json!(node);
        snapshot["node"]["found"]["value"]["metadata"]["name"] = json!(node);
        std::fs::write(folder.path().join(format!("{node}.json")), snapshot.to_string())
            .expect("a file");
    }
    std::fs::write(folder.path().join("worker-5.json"), "{}").expect("a file");
    let page = Written::of(&folder.path().display().to_string());
    browser.look(1400, false);
    browser.open(&page.file());
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let rows = browser.value(
        "[...document.querySelectorAll('#nodes tbody tr')].map((it) => it.cells[1].textContent)",
    );
    let rows: Vec<String> = serde_json::from_value(rows).expect("names");
    assert_eq!(rows.len(), 3, "{rows:?}");
    browser.click("#nodes tbody tr a");
    // The browser follows the link after the click.
    let open = browser.value(
        "new Promise((done) => { let left = 250; const look = () => { \
         const open = document.querySelectorAll('article > details[open]').length; \
         if (open || !left--) done(open); else setTimeout(look, 20); }; look(); })",
    );
    assert_eq!(open, json!(1));
    let twice: Value = browser.value(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map((it) => it.id); \
                                      return ids.filter((id, at) => ids.indexOf(id) !== at); })()",
    );
    assert_eq!(twice, json!([]));
}
