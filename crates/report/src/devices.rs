//! Who has which device: `kq devices list` as a grid, by resource and NUMA node.

use super::answers::{Found, NodePage, doubts, names};
use super::drawn::{Devices, HeldDevice};
use super::findings::{about, without};
use super::mark::{Mark, Place};
use super::section::{Section, figure, table};
use super::text::{code, pod, shown};
use kq_managers::list::{FreeDevice, ResourceSummary, State};
use kq_output::units::counted;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Returns the section.
pub fn devices(page: &NodePage<'_>) -> Section {
    let (id, title) = ("devices", "Devices");
    match page.devices() {
        Ok(found) => {
            let Devices { held, resources } = found.answer;
            let wrong = held.iter().filter(|it| it.state != State::Ok).count();
            Section {
                id,
                title,
                state: match (resources.len(), wrong) {
                    (0, _) => "none".to_owned(),
                    (_, 0) => "all OK".to_owned(),
                    (_, wrong) => format!("{wrong} not OK"),
                },
                lead: html! { (match resources.len() {
                    0 => "No device plugin has offered a resource to this kubelet.".to_owned(),
                    resources => format!("{}, by NUMA node; each tile is a device.", counted(resources, "resource")),
                }) },
                body: html! { (about(page, id)) (body(&found)) },
            }
        }
        Err(why) => without(page, (id, title), names::DEVICES, why),
    }
}

/// Returns the class of a state.
fn class(state: State) -> &'static str {
    match state {
        State::Ok => "d-held",
        State::Unknown => "d-unknown",
        State::Stale | State::InitHeld => "d-stale",
        State::Double | State::Orphan | State::Missing | State::Unhealthy => "d-bad",
    }
}

/// The tiles of a resource by NUMA node; the last ones have none.
type Grid = BTreeMap<Option<i64>, Vec<Markup>>;

fn body(found: &Found<'_, Devices>) -> Markup {
    let Devices { held, resources } = found.answer;
    let mut grids: BTreeMap<&str, Grid> = BTreeMap::new();
    for (device, place) in Place::new(found.id, "/items").each(held) {
        let grid = grids.entry(&device.resource).or_default();
        let tiles = grid.entry(device.numa_nodes.first().copied()).or_default();
        tiles.push(held_tile(device, &place));
    }
    for resource in resources {
        let place = Place::new(found.id, "/resources").below(&resource.resource).below("free");
        for (device, place) in place.each(resource.free.as_deref().unwrap_or_default()) {
            let grid = grids.entry(&resource.resource).or_default();
            let numa = device.numa_nodes.iter().flatten().next().copied();
            grid.entry(numa).or_default().push(free_tile(device, &place));
        }
    }
    let of = |name: &str| resources.iter().find(|it| it.resource == name);
    html! {
        @for (resource, grid) in &grids {
            (figure(&format!("Devices of {}", shown(resource)), html! {
                div.numa { @for (node, tiles) in grid {
                    section.node {
                        h4 { (match node { Some(node) => format!("NUMA node {node}"), None => "no NUMA node".to_owned() }) }
                        ul.tiles { @for tile in tiles { (tile) } }
                    }
                } }
            }, html! { span.key { code { (shown(resource)) } ": " @if let Some(resource) = of(resource) { (totals(resource)) } } }))
        }
        @if !held.is_empty() {
            (table("Devices of containers", held.len(), "device",
                html! {
                    th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "Resource" } th scope="col" { "Device" }
                    th scope="col" { "NUMA" } th scope="col" { "Health" } th scope="col" { "State" } th scope="col" { "Reason" }
                },
                html! { @for device in held { (line(device)) } }))
        }
        (doubts(found))
    }
}

fn totals(resource: &ResourceSummary) -> String {
    let count = |count: usize| i64::try_from(count).ok();
    let parts = [
        ("capacity", resource.capacity),
        ("allocatable", resource.allocatable),
        ("healthy", resource.healthy.and_then(count)),
        ("allocated", count(resource.allocated)),
        ("stale", count(resource.stale)),
    ];
    let parts = parts.iter().filter_map(|(name, amount)| Some(format!("{name} {}", (*amount)?)));
    parts.collect::<Vec<_>>().join(", ")
}

fn holder(device: &HeldDevice) -> String {
    pod(&device.namespace, &device.pod)
}

fn held_tile(device: &HeldDevice, place: &Place<'_>) -> Markup {
    Mark::new("li", &format!("tile {}", class(device.state)))
        .called(shown(&device.device))
        .of_pod(&device.namespace, &device.pod)
        .of(place)
        .data("health", &device.health)
        .data("state", &device.state)
        .data("resource", &device.resource)
        .data("container", &device.container)
        .holding(html! {
            strong { (shown(&device.device)) }
            span.state { (device.state) }
            span.who { (holder(device)) }
        })
}

fn free_tile(device: &FreeDevice, place: &Place<'_>) -> Markup {
    let name = shown(&device.device);
    let tile = Mark::new("li", "tile d-free").called(name.clone()).of(place);
    let tile = tile.data("device", &device.device);
    tile.holding(html! { strong { (name) } span.state { "free" } (PreEscaped("")) })
}

fn line(device: &HeldDevice) -> Markup {
    let nodes: Vec<String> = device.numa_nodes.iter().map(i64::to_string).collect();
    html! {
        tr data-pod=(holder(device)) {
            th scope="row" { (holder(device)) }
            td { (shown(&device.container)) }
            td { (shown(&device.resource)) }
            td { (shown(&device.device)) }
            td.num { (if nodes.is_empty() { "–".to_owned() } else { nodes.join(", ") }) }
            td { (code(&device.health)) }
            td { span.dot.(class(device.state)) aria-hidden="true" {} (device.state) }
            td.dim { (shown(&device.findings.join("; "))) }
        }
    }
}
