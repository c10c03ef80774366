//! A plan for people.

use super::item::{PlannedImage, Ties, Verdict};
use super::report::{ImageGcPlan, Trigger};
use crate::containers::Step;
use kq_facts::timestamp::Timestamp;
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::{Precision, bytes};

/// Returns a line for each image.
pub fn table(plan: &ImageGcPlan) -> Table {
    images(plan, false)
}

/// Returns a line for each image with everything that is known.
pub fn wide(plan: &ImageGcPlan) -> Table {
    images(plan, true)
}

fn images(plan: &ImageGcPlan, is_wide: bool) -> Table {
    let rows: Vec<(Timestamp, &PlannedImage)> = plan.items.iter().map(|it| (plan.at, it)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::new("ORDER", |(_, it)| or_dash(it.place)),
        Column::name("IMAGE", |(_, it)| names(&it.tags, &it.digests)),
        Column::new("ID", |(_, it)| short(&it.id).to_owned()),
        Column::new("SIZE", |(_, it)| size(it.size_bytes)),
        Column::wide(Column::new("OWN", |(_, it)| or_dash(it.own_bytes.map(bytes)))),
        Column::wide(Column::new("SHARED", |(_, it)| or_dash(it.shared_bytes.map(bytes)))),
        Column::state("VERDICT", |(_, it)| it.verdict.to_string(), |(_, it)| tone(it.verdict)),
        Column::new("CERTAINTY", |(_, it)| it.certainty.to_string()),
        Column::wide(Column::new("FIRST-FOUND", |(now, it)| {
            or_dash(it.known.map(|known| since(known.likely_first_detected, *now, "?")))
        })),
        Column::wide(Column::new("LAST-USED", |(now, it)| {
            or_dash(it.known.map(|known| since(known.likely_last_used, *now, "never")))
        })),
        Column::wide(Column::new("TIED-WITH", |(_, it)| {
            or_dash(Some(tied(&it.tied_with, ",")).filter(|ids| !ids.is_empty()))
        })),
        Column::narrow(Column::text("REASON", |(_, it)| Precision::Short.text(&it.reason))),
        Column::wide(Column::text("REASON", |(_, it)| it.reason.to_string())),
        Column::wide(Column::text("DEPENDS-ON", |(_, it)| or_dash(it.depends_on.as_ref()))),
    ])
}

fn tone(verdict: Verdict) -> Option<Tone> {
    matches!(verdict, Verdict::RemovedForAge | Verdict::RemovedForSpace).then_some(Tone::Bad)
}

fn since(time: Option<Timestamp>, now: Timestamp, never: &str) -> String {
    time.map_or_else(
        || never.to_owned(),
        |time| format!("{} ago", Precision::Exact.time(now.since(time))),
    )
}

/// Returns the ids of those that are tied, the first of many.
pub(crate) fn tied(ties: &Ties, between: &str) -> String {
    const SHOWN: usize = 20;
    let mut shown: Vec<String> = ties.ids().take(SHOWN).map(|id| short(id).to_owned()).collect();
    if let Some(more) = ties.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    shown.join(between)
}

/// Returns the tags of an image, else its digests, in a short form.
pub fn names(tags: &[String], digests: &[String]) -> String {
    match (tags, digests) {
        ([], []) => "<none>".to_owned(),
        ([], [first, ..]) | ([first], _) => first.clone(),
        ([first, others @ ..], _) => format!("{first} (+{})", others.len()),
    }
}

/// Returns the start of an id, as long as other tools show it.
pub fn short(id: &str) -> &str {
    const SHOWN: usize = 13;
    let hash = id.strip_prefix("sha256:").unwrap_or(id);
    hash.get(..SHOWN).unwrap_or(hash)
}

/// Returns a size for people; one that no image can have as it is.
pub fn size(size: i64) -> String {
    u64::try_from(size).map_or_else(|_| size.to_string(), bytes)
}

/// Returns what is above and below the images: whether it runs, what comes free, what follows.
pub fn summary(plan: &ImageGcPlan, amounts: Precision) -> Doc {
    let mut doc = Doc::default();
    let mut line = |words: String| doc.line(words);
    line(format!("TRIGGER      {} at {}", plan.trigger, plan.at));
    if let Some(filesystem) = &plan.run.image_filesystem {
        line(format!("FILE SYSTEM  {filesystem}"));
    }
    for because in &plan.run.because {
        line(format!("DECISION     {}", amounts.text(because)));
    }
    if let (Trigger::Eviction, Some(containers)) = (plan.trigger, &plan.containers) {
        let count = |is_of: fn(&Step) -> bool| containers.steps.iter().filter(|s| is_of(s)).count();
        line(format!(
            "CONTAINERS   {} dead containers and {} sandboxes go first",
            count(|step| matches!(step, Step::Container(_))),
            count(|step| matches!(step, Step::Sandbox(_))),
        ));
        let logs = count(|step| matches!(step, Step::LogDirectory(_)));
        if logs > 0 {
            line(format!(
                "LOGS         {logs} folders of pods that are gone go too; kq gc apply leaves them"
            ));
        }
    }
    let freed = &plan.freed;
    let range = if freed.at_least_bytes == freed.at_most_bytes {
        "certain".to_owned()
    } else {
        format!("between {} and {}", size(freed.at_least_bytes), size(freed.at_most_bytes))
    };
    let real = match (freed.real_bytes, freed.images) {
        (_, 0) => String::new(),
        (Some(real), _) => format!("; really free: {}", bytes(real)),
        (None, _) => "; really free: unknown".to_owned(),
    };
    line(format!(
        "FREED        {} of {} images, {} as the kubelet counts ({range}){real}",
        freed.images,
        plan.items.len(),
        size(freed.counted_bytes)
    ));
    for follows in &plan.outcome.follows {
        line(format!("OUTCOME      {}", amounts.text(follows)));
    }
    doc
}
