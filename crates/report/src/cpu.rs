//! Who gets the CPU: the answer of `kq cgroup shares` as an icicle of the cgroup tree.

use super::answers::{Found, NodePage, doubts, names};
use super::drawn::{Cgroup, CpuPart, CpuTime};
use super::findings::{about, without};
use super::icicle::Branch;
use super::mark::{Mark, Place, percent};
use super::scale::{Bullet, Tick, part};
use super::section::{BARS, Section, figure, key, table};
use super::text::{pod, shown};
use super::tree::{Tree, qos_class};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Returns the section.
pub fn cpu(page: &NodePage<'_>) -> Section {
    let (id, title) = ("cpu", "CPU");
    match page.find(names::SHARES, page.node.shares.as_ref()) {
        Ok(found) => {
            let CpuTime { cpus, is_by_kernel, .. } = found.answer;
            Section {
                id,
                title,
                state: format!("{cpus} CPUs"),
                lead: html! {
                    "The CPU time of each container while all of them are busy, out of " (cpus) " CPUs. Siblings divide it \
                     by weight, up to their quotas. Weights and quotas are "
                    (if *is_by_kernel { "the kernel's." } else { "the planned ones." })
                },
                body: html! { (about(page, id)) (body(&found, page.usage().ok())) },
            }
        }
        Err(why) => without(page, (id, title), names::SHARES, why),
    }
}

/// A container with its share and, where the tree was read, its cgroup.
struct Row<'a> {
    share: &'a CpuPart,
    place: Place<'a>,
    usage: Option<(&'a Cgroup, Place<'a>)>,
    request: Option<f64>,
    quota: Option<f64>,
    throttled: Option<f64>,
}

fn rows<'a>(found: &Found<'a, CpuTime>, usage: Option<Found<'a, Vec<Cgroup>>>) -> Vec<Row<'a>> {
    let usage = usage.map(|usage| Place::new(usage.id, "/items").each(usage.answer));
    let usage = usage.unwrap_or_default().into_iter();
    let by_cgroup: BTreeMap<&str, _> =
        usage.map(|(cgroup, place)| (cgroup.path.as_str(), (cgroup, place))).collect();
    let row = |(share, place): (&'a CpuPart, Place<'a>)| {
        let path = share.cgroup.as_deref().filter(|path| !path.is_empty());
        let usage = path.and_then(|path| by_cgroup.get(path)).cloned();
        let cgroup = usage.as_ref().map(|(cgroup, _)| *cgroup);
        Row {
            request: share.request_milli_cpu.map(|milli| milli as f64 / 1000.0),
            quota: cgroup.and_then(|cgroup| quota(cgroup.setting("cpu.max"))),
            throttled: cgroup.and_then(throttled),
            share,
            place,
            usage,
        }
    };
    Place::new(found.id, "/items").each(&found.answer.items).into_iter().map(row).collect()
}

/// Reads `cpu.max`: the CPUs of a quota; `None`: there is no quota.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

/// Returns the part of the periods in which a container was throttled; `None`: it never had a quota.
fn throttled(cgroup: &Cgroup) -> Option<f64> {
    let periods = cgroup.usage.periods.filter(|periods| *periods > 0)?;
    Some(part(cgroup.usage.throttled_periods? as f64, periods as f64))
}

fn body(found: &Found<'_, CpuTime>, usage: Option<Found<'_, Vec<Cgroup>>>) -> Markup {
    let rows = rows(found, usage);
    let cpus = found.answer.cpus as f64;
    let widest =
        rows.iter().flat_map(|row| [row.share.cpus, row.request]).flatten().fold(0.0, f64::max);
    html! {
        @if rows.iter().any(|row| row.share.cpus.is_some()) {
            (figure("CPU time by cgroup, an icicle: the width of a cell is its part of the CPU time",
                icicle(&rows, cpus),
                html! {
                    (key("q-guaranteed", "Guaranteed")) (key("q-burstable", "Burstable")) (key("q-besteffort", "BestEffort"))
                    (key("tick request", "request")) (key("tick limit", "quota"))
                    (key("throttled", "part of its periods throttled"))
                    span.key { "Width: CPU time." }
                }))
        }
        (table("CPU time of each container", rows.len(), "container",
            html! {
                th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "QoS class" }
                @if rows.len() <= BARS { th.wide scope="col" { "Time, request and quota" } }
                th.num scope="col" { "CPU time" } th.num scope="col" { "Request" } th.num scope="col" { "Quota" }
                th.num scope="col" { "Throttled" } th scope="col" { "Limited by" }
            },
            html! {
                @let sorted = { let mut sorted: Vec<&Row<'_>> = rows.iter().collect();
                    sorted.sort_by(|one, other| other.share.cpus.unwrap_or_default().total_cmp(&one.share.cpus.unwrap_or_default())); sorted };
                @for row in sorted { (line(row, Some(widest).filter(|_| rows.len() <= BARS))) }
            }))
        (doubts(found))
    }
}

fn icicle(rows: &[Row<'_>], cpus: f64) -> Markup {
    let mut tree = Tree::new("kubepods");
    for (at, row) in rows.iter().enumerate() {
        let (share, width) = (row.share, row.share.cpus.unwrap_or_default());
        match &share.sibling {
            Some(sibling) => {
                tree.beside(shown(sibling), Branch { key: at, value: width, below: Vec::new() })
            }
            None => tree.add(share.qos_class, (&share.namespace, &share.pod), at, width),
        }
    }
    let draw = |at: usize, _| {
        let Row { share, place, .. } = &rows[at];
        let mark = Mark::new("svg", &format!("cell {}", qos_class(share.qos_class)))
            .called(shown(&share.container))
            .of_pod(&share.namespace, &share.pod)
            .of(place)
            .data("decimal", &share.decimal)
            .data("requestMilliCpu", &share.request_milli_cpu)
            .data("meetsRequest", &share.meets_request)
            .data("limitedBy", &share.limited_by);
        (mark, inside(&rows[at]))
    };
    tree.draw(cpus, "idle", draw)
}

/// The marks in the cell of a container: its request and quota as parts of its time, and how often it was throttled.
fn inside(row: &Row<'_>) -> Markup {
    let cpus = row.share.cpus.unwrap_or_default();
    let at = |amount: f64| percent(part(amount, cpus));
    html! {
        @if let (Some(throttled), Some((cgroup, place))) = (row.throttled.filter(|part| *part > 0.0), &row.usage) {
            (Mark::new("rect", "throttled").with("y", "100%").with("transform", "translate(0 -6)")
                .with("width", percent(throttled)).with("height", "6").of(&place.below("usage"))
                .data("periods", &cgroup.usage.periods).data("throttledPeriods", &cgroup.usage.throttled_periods)
                .data("throttledUsec", &cgroup.usage.throttled_usec).empty())
        }
        @if let Some(request) = row.request.filter(|request| *request > 0.0) {
            line class={ "tick request" @if request > cpus * 1.0001 { " short" } } x1=(at(request)) x2=(at(request)) y1="22" y2="100%" {}
        }
        @if let (Some(quota), Some((cgroup, place))) = (row.quota, &row.usage) {
            (Mark::new("line", "tick limit").with("x1", at(quota)).with("x2", at(quota)).with("y1", "22").with("y2", "100%")
                .of(&place.below("settings")).data("cpu.max", &cgroup.setting("cpu.max")).empty())
        }
    }
}

fn line(row: &Row<'_>, widest: Option<f64>) -> Markup {
    let share = row.share;
    let owner = pod(&share.namespace, &share.pod);
    let is_short = share.meets_request == Some(false);
    let bullet = |widest| Bullet {
        whole: widest,
        bar: share.cpus,
        class: qos_class(share.qos_class),
        ticks: vec![Tick::new("request", row.request), Tick::new("limit", row.quota)],
    };
    html! {
        tr data-pod=(owner) {
            th scope="row" { (share.sibling.as_deref().map_or_else(|| owner.clone(), shown)) }
            td { (shown(&share.container)) }
            td { @if let Some(class) = share.qos_class { (class) } }
            @if let Some(widest) = widest { td.wide { (bullet(widest).draw()) } }
            td.num { (share.cpus.map_or_else(|| "unknown".to_owned(), |cpus| format!("{cpus:.3}"))) }
            td.num.(if is_short { "bad" } else { "" }) { (row.request.map_or_else(|| "–".to_owned(), milli)) @if is_short { " not met" } }
            td.num { (row.quota.map_or_else(|| "–".to_owned(), milli)) }
            td.num { (row.throttled.map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0))) }
            td.dim { (shown(&share.limited_by)) }
        }
    }
}

/// Writes CPUs as Kubernetes does: `500m`, `2`.
pub fn milli(cpus: f64) -> String {
    let milli = (cpus * 1000.0).round() as i64;
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_cgroup::live::show::Usage;

    #[test]
    fn quotas_are_cpus() {
        let texts = ["20000 100000", "max 100000", "", "1 0"];
        assert_eq!(texts.map(quota), [Some(0.2), None, None, None]);
        assert_eq!([milli(0.2), milli(2.0), milli(0.0304)], ["200m", "2", "30m"]);
    }

    #[test]
    fn throttling_is_a_part_of_the_periods() {
        let of = |periods, throttled_periods| {
            let usage = Usage { periods, throttled_periods, ..Usage::default() };
            throttled(&Cgroup { usage, ..Cgroup::default() })
        };
        assert_eq!(of(Some(4), Some(1)), Some(0.25));
        assert_eq!([of(Some(0), Some(0)), of(None, None)], [None, None]);
    }
}
