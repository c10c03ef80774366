//! A plan for people.

use super::item::PlannedImage;
use super::reasons::ago;
use super::report::{ImageGcPlan, Trigger};
use super::ties::Ties;
use crate::facts::timestamp::Timestamp;
use crate::image_gc::containers::Step;
use crate::output::table::Table;
use crate::output::terminal::plain;
use crate::output::units::bytes;
use std::fmt::Write;

/// Returns a line for each image.
pub fn table(plan: &ImageGcPlan) -> Table {
    let headings = ["ORDER", "IMAGE", "ID", "SIZE", "VERDICT", "CERTAINTY", "REASON"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for item in &plan.items {
        let cells = cells(item);
        table.add(cells.into_iter().chain([item.reason.clone()]).collect());
    }
    table
}

/// Returns a line for each image with everything that is known.
pub fn wide(plan: &ImageGcPlan) -> Table {
    let headings = [
        "ORDER",
        "IMAGE",
        "ID",
        "SIZE",
        "VERDICT",
        "CERTAINTY",
        "FIRST-FOUND",
        "LAST-USED",
        "TIED-WITH",
        "REASON",
        "DEPENDS-ON",
    ];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for item in &plan.items {
        let (found, used) = times(item, plan.at);
        let tied = tied(&item.tied_with, ",");
        let rest = [
            found,
            used,
            if tied.is_empty() { "-".to_owned() } else { tied },
            item.reason.clone(),
            item.depends_on.clone().unwrap_or_else(|| "-".to_owned()),
        ];
        table.add(cells(item).into_iter().chain(rest).collect());
    }
    table
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

fn cells(item: &PlannedImage) -> [String; 6] {
    [
        item.place.map_or_else(|| "-".to_owned(), |place| place.to_string()),
        names(&item.tags, &item.digests),
        short(&item.id).to_owned(),
        size(item.size_bytes),
        item.verdict.to_string(),
        item.certainty.to_string(),
    ]
}

fn times(item: &PlannedImage, now: Timestamp) -> (String, String) {
    let Some(known) = item.known else { return ("-".to_owned(), "-".to_owned()) };
    let time = |likely: Option<Timestamp>, never: &str| match likely {
        Some(at) => format!("{} ago", ago(now.since(at))),
        None => never.to_owned(),
    };
    (time(known.likely_first_detected, "?"), time(known.likely_last_used, "never"))
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
pub fn summary(plan: &ImageGcPlan) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let mut line = |words: String| {
        let _ = writeln!(text, "{}", plain(words));
    };
    line(format!("TRIGGER      {} at {}", plan.trigger, plan.at));
    if let Some(filesystem) = &plan.run.image_filesystem {
        line(format!("FILE SYSTEM  {filesystem}"));
    }
    for because in &plan.run.because {
        line(format!("DECISION     {because}"));
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
        "sure".to_owned()
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
        line(format!("OUTCOME      {follows}"));
    }
    text
}
