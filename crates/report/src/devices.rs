//! Who has which device: `kq devices list` as a grid, by resource and NUMA node.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place};
use super::section::{Section, figure, table};
use super::text::{pod, shown};
use kq_output::units::counted;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the section.
pub fn devices(page: &NodePage<'_>) -> Section {
    let (id, title) = ("devices", "Devices");
    match page.find(names::DEVICES) {
        Ok(found) => {
            let wrong =
                found.value.list("items").iter().filter(|it| it.text("state") != "OK").count();
            let resources =
                found.value.field("resources").as_object().map_or(0, serde_json::Map::len);
            Section {
                id,
                title,
                state: match (resources, wrong) {
                    (0, _) => "none".to_owned(),
                    (_, 0) => "all OK".to_owned(),
                    (_, wrong) => format!("{wrong} not OK"),
                },
                lead: html! { (match resources {
                    0 => "No device plugin has offered a resource to this kubelet.".to_owned(),
                    resources => format!("{}, by NUMA node; each tile is a device.", counted(resources, "resource")),
                }) },
                body: html! { (about(page, id)) (body(found)) },
            }
        }
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: html! { (about(page, id)) (no_answer(page.questions.get(names::DEVICES), why)) },
        },
    }
}

/// Returns the class of a tile and what its state says.
fn state(device: &Value) -> &'static str {
    match device.text("state") {
        "OK" => "d-held",
        "UNKNOWN" => "d-unknown",
        "STALE" | "INIT-HELD" => "d-stale",
        _ => "d-bad",
    }
}

/// The tiles of a resource by NUMA node; the last ones have none.
type Grid = BTreeMap<Option<i64>, Vec<Markup>>;

fn body(found: Found<'_>) -> Markup {
    let held = Place::all(found.id, found.value, "/items");
    let mut grids: BTreeMap<&str, Grid> = BTreeMap::new();
    let numa = |device: &Value| device.list("numaNodes").first().and_then(Value::as_i64);
    for place in &held {
        let grid = grids.entry(place.value.text("resource")).or_default();
        grid.entry(numa(place.value)).or_default().push(held_tile(place));
    }
    let resources = found.value.field("resources").as_object();
    for (name, resource) in resources.into_iter().flatten() {
        let pointer = format!("/resources/{}", name.replace('~', "~0").replace('/', "~1"));
        let place = Place { answer: found.id, pointer, value: resource };
        let free = resource.list("free").iter().enumerate();
        for (at, device) in free {
            let below = place.below("free");
            let place =
                Place { pointer: format!("{}/{at}", below.pointer), value: device, ..below };
            let grid = grids.entry(name.as_str()).or_default();
            grid.entry(numa(device)).or_default().push(free_tile(&place));
        }
    }
    html! {
        @for (resource, grid) in &grids {
            (figure(&format!("Devices of {}", shown(resource)), html! {
                div.numa { @for (node, tiles) in grid {
                    section.node {
                        h4 { (match node { Some(node) => format!("NUMA node {node}"), None => "no NUMA node".to_owned() }) }
                        ul.tiles { @for tile in tiles { (tile) } }
                    }
                } }
            }, html! { span.key { code { (shown(resource)) } ": " (totals(found.value.field("resources").field(resource))) } }))
        }
        @if !held.is_empty() {
            (table("Devices of containers", held.len(), "device",
                html! {
                    th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "Resource" } th scope="col" { "Device" }
                    th scope="col" { "NUMA" } th scope="col" { "Health" } th scope="col" { "State" } th scope="col" { "Reason" }
                },
                html! { @for place in &held { (line(place.value)) } }))
        }
        (doubts(found))
        (command(found.command))
    }
}

fn totals(resource: &Value) -> String {
    let names = ["capacity", "allocatable", "healthy", "allocated", "stale"];
    let parts = names.iter().filter_map(|name| Some(format!("{name} {}", resource.number(name)?)));
    parts.collect::<Vec<_>>().join(", ")
}

fn holder(device: &Value) -> String {
    pod(device.text("/pod/namespace"), device.text("/pod/name"))
}

fn held_tile(place: &Place<'_>) -> Markup {
    let device = place.value;
    Mark::new("li", &format!("tile {}", state(device)))
        .called(shown(device.text("device")))
        .of_pod(device.text("/pod/namespace"), device.text("/pod/name"))
        .of(place, &["health", "state", "resource", "container"])
        .holding(html! {
            strong { (shown(device.text("device"))) }
            span.state { (device.text("state")) }
            span.who { (holder(device)) }
        })
}

fn free_tile(place: &Place<'_>) -> Markup {
    let name = shown(place.value.text("device"));
    let tile = Mark::new("li", "tile d-free").called(name.clone()).of(place, &["device"]);
    tile.holding(html! { strong { (name) } span.state { "free" } (PreEscaped("")) })
}

fn line(device: &Value) -> Markup {
    let nodes = device.list("numaNodes").iter().filter_map(Value::as_i64);
    let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
    let reasons = device.list("findings").iter().map(|finding| finding.sentence("reason"));
    let reasons: Vec<String> = reasons.collect();
    html! {
        tr data-pod=(holder(device)) {
            th scope="row" { (holder(device)) }
            td { (shown(device.text("container"))) }
            td { (shown(device.text("resource"))) }
            td { (shown(device.text("device"))) }
            td.num { (if nodes.is_empty() { "–".to_owned() } else { nodes.join(", ") }) }
            td { (device.text("health")) }
            td { span.dot.(state(device)) aria-hidden="true" {} (device.text("state")) }
            td.dim { (shown(&reasons.join("; "))) }
        }
    }
}
