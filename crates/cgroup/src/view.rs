//! The plan as a table, in a tree of cgroups.

use crate::container::ContainerKind;
use crate::derivation::{Step, join};
use crate::files::UNBOUNDED_HUGEPAGES;
use crate::node::NodePart;
use crate::parallel::in_parallel;
use crate::plan::{Owner, Plan, PlannedCgroup, SystemdUnit, last_element, qualified_name};
use kq_answer::Missing;
use kq_answer::cgroup_fact::CgroupFact;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::unit::listed;
use kq_k8s::quantity::{Format, Quantity};
use kq_output::table::{Column, Rows, Table};
use kq_output::tree::{Entry, branches};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Returns the tree with the files that a glance needs as columns. A column without any value, or with
/// the same nothing everywhere, is left out.
pub fn table(plan: &Plan<'_>) -> Table {
    let rows = rows(plan);
    let files = CgroupFile::ALL.iter().filter(|file| file.row().in_plan);
    let mut columns: Vec<FileColumn> = files
        .map(|file| FileColumn { file: *file, name: file.name(plan.settings.version).into() })
        .collect();
    columns.extend(hugepage_columns(&rows));
    columns.retain(|column| rows.iter().any(|row| column.is_telling(row.cgroup)));
    let mut headings = vec!["CGROUP".to_owned(), "QOS".to_owned()];
    headings.extend(columns.iter().map(|column| column.name.to_uppercase()));
    let mut table = Table::new(headings);
    let cells = in_parallel(&rows, |row| {
        let name = format!("{}{}", row.branch, label(row.cgroup));
        let values = columns.iter().map(|column| column.cell(row.cgroup));
        [name, qos(row.cgroup)].into_iter().chain(values).collect::<Vec<String>>()
    });
    cells.into_iter().for_each(|row| table.add(row));
    table
}

/// Returns the values of a node's cgroups under both versions, those of one setting side by side. The plans differ in the
/// version alone, so that their cgroups are the same.
pub fn both(v1: &Plan<'_>, v2: &Plan<'_>) -> Table {
    let (old, new) = (rows(v1), rows(v2));
    let files = CgroupFile::ALL.iter().filter(|file| file.row().in_plan);
    let mut of_files: Vec<[FileColumn; 2]> = files
        .map(|file| {
            [v1, v2].map(|plan| FileColumn {
                file: *file,
                name: file.name(plan.settings.version).into(),
            })
        })
        .collect();
    for column in hugepage_columns(&new) {
        let size = column.name.split('.').nth(1).unwrap_or_default().to_owned();
        let name = column.file.sized_name(v1.settings.version, &size).into();
        of_files.push([FileColumn { file: column.file, name }, column]);
    }
    let mut headings = vec!["CGROUP".to_owned(), "QOS".to_owned()];
    let mut columns: Vec<Vec<String>> = Vec::new();
    for [one, other] in &of_files {
        let mut sides = Vec::new();
        for (column, rows) in [(one, &old), (other, &new)] {
            if rows.iter().any(|row| column.is_telling(row.cgroup)) {
                let cells: Vec<String> = rows.iter().map(|row| column.cell(row.cgroup)).collect();
                sides.push((column.name.to_uppercase(), cells));
            }
        }
        if let [one, other] = sides.as_slice()
            && one.0 == other.0
        {
            match one.1 == other.1 {
                true => sides.truncate(1),
                false => [" V1", " V2"].iter().zip(&mut sides).for_each(|(of, it)| it.0 += of),
            }
        }
        for (heading, cells) in sides {
            headings.push(heading);
            columns.push(cells);
        }
    }
    let mut table = Table::new(headings);
    for (at, row) in new.iter().enumerate() {
        let name = format!("{}{}", row.branch, label(row.cgroup));
        let cells = columns.iter().filter_map(|column| column.get(at).cloned());
        table.add([name, qos(row.cgroup)].into_iter().chain(cells).collect::<Vec<String>>());
    }
    table
}

/// The column of a file.
struct FileColumn {
    file: CgroupFile,
    /// With the page size, where there is one.
    name: Cow<'static, str>,
}

/// Returns the tree with every value on a line of its own, and its derivation.
pub fn wide(plan: &Plan<'_>) -> Table {
    let mut lines: Vec<(String, &PlannedCgroup<'_>, [String; 3])> = Vec::new();
    for row in rows(plan) {
        let name = match row.cgroup.owner {
            Owner::Node(_) | Owner::Qos(_) => row.cgroup.path.clone(),
            Owner::Pod(..) | Owner::Container { .. } => {
                format!("{} {}", label(row.cgroup), last_element(&row.cgroup.path))
            }
        };
        let mut first = format!("{}{name}", row.branch);
        for value in values(row.cgroup) {
            let branch = std::mem::replace(&mut first, row.below.clone());
            lines.push((branch, row.cgroup, value));
        }
    }
    Rows::of(&lines).table(&[
        Column::name("CGROUP", |(branch, ..)| branch.clone()),
        Column::name("FILE", |(_, _, [file, _, _])| file.clone()),
        Column::new("VALUE", |(_, _, [_, value, _])| value.clone()),
        Column::new("WRITER", |(_, cgroup, _)| cgroup.owner.writer().to_owned()),
        Column::text("BECAUSE", |(_, _, [_, _, because])| because.clone()),
    ])
}

/// Returns file, value and derivation of everything about a cgroup.
fn values(cgroup: &PlannedCgroup<'_>) -> Vec<[String; 3]> {
    let written = cgroup
        .files
        .iter()
        .map(|file| [file.file.to_string(), file.value.clone(), join(&file.because)]);
    let missing = cgroup
        .missing
        .iter()
        .map(|(file, fact)| [file.to_string(), "?".to_owned(), format!("{fact}: {}", fact.flag())]);
    let unit = cgroup.unit.iter().map(|unit| {
        let asked = format!("{}: {}", unit.unit, properties(unit));
        ["(systemd)".to_owned(), "-".to_owned(), asked]
    });
    let mut values: Vec<_> = written.chain(missing).chain(unit).collect();
    if values.is_empty() {
        values.push(["-", "-", "nothing is written"].map(str::to_owned));
    }
    values
}

/// Returns the properties by their names on systemd's bus, CPU sets as lists.
fn properties(unit: &SystemdUnit) -> String {
    listed(unit.properties.iter().map(|(name, value)| (*name, value)))
}

/// Returns the paths, top down.
pub fn names(plan: &Plan<'_>) -> Vec<String> {
    rows(plan)
        .into_iter()
        .map(|row| row.cgroup.path.clone())
        .filter(|path| !path.is_empty())
        .collect()
}

/// Returns each fact that some file waits for, once, with the flag that supplies it.
pub fn unknown_facts(plan: &Plan<'_>) -> Vec<Missing> {
    unknown_facts_of(plan, |_| true)
}

/// Returns each fact that some of these files wait for.
pub fn unknown_facts_of(plan: &Plan<'_>, is_meant: impl Fn(CgroupFile) -> bool) -> Vec<Missing> {
    let mut facts = BTreeSet::<CgroupFact>::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            let meant = cgroup
                .missing
                .iter()
                .filter(|(file, _)| CgroupFile::named(file).is_none_or(&is_meant));
            facts.extend(meant.map(|(_, fact)| *fact));
        });
    }
    plan.knowledge.summary(&facts)
}

/// A cgroup and the lines that connect it with its parent.
struct Row<'a, 'p> {
    cgroup: &'a PlannedCgroup<'p>,
    branch: String,
    below: String,
}

fn rows<'a, 'p>(plan: &'a Plan<'p>) -> Vec<Row<'a, 'p>> {
    let mut found = Vec::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, depth| found.push((depth, cgroup)));
    }
    let depths: Vec<usize> = found.iter().map(|(depth, _)| *depth).collect();
    let connected = branches(&depths).into_iter().zip(found);
    connected.map(|(Entry { branch, below }, (_, cgroup))| Row { cgroup, branch, below }).collect()
}

fn label(cgroup: &PlannedCgroup<'_>) -> String {
    match cgroup.owner {
        Owner::Node(NodePart::Kubepods) | Owner::Qos(_) => last_element(&cgroup.path).to_owned(),
        Owner::Node(part) => format!("{} ({})", last_element(&cgroup.path), part.name()),
        Owner::Pod(pod, _) => qualified_name(pod),
        Owner::Container { kind, name, .. } => match kind {
            ContainerKind::Container => name.to_owned(),
            ContainerKind::InitContainer => format!("{name} (init)"),
            ContainerKind::Sidecar => format!("{name} (sidecar)"),
            ContainerKind::EphemeralContainer => format!("{name} (ephemeral)"),
        },
    }
}

fn qos(cgroup: &PlannedCgroup<'_>) -> String {
    match cgroup.owner {
        Owner::Qos(class) | Owner::Pod(_, class) => class.to_string(),
        Owner::Node(_) | Owner::Container { .. } => String::new(),
    }
}

impl FileColumn {
    /// Returns the text of the file, in units that a person reads; `?` is unknown, `-` is not written.
    fn cell(&self, cgroup: &PlannedCgroup<'_>) -> String {
        let written = cgroup.files.iter().find(|written| written.file == self.name);
        match written {
            Some(written) if self.file.is_bytes() => bytes(&written.value),
            Some(written) => match written.because.last() {
                Some(Step::SystemdQuota { asked_us, .. }) => {
                    format!("{} (asked {asked_us})", written.value)
                }
                _ => written.value.clone(),
            },
            None if self.is_missing(cgroup) => "?".to_owned(),
            None => "-".to_owned(),
        }
    }

    /// Returns true if a cell has more than the default.
    fn is_telling(&self, cgroup: &PlannedCgroup<'_>) -> bool {
        match cgroup.text(&self.name) {
            Some(text) => match self.file {
                CgroupFile::MemorySwapMax => text != "0",
                CgroupFile::HugetlbMax => !matches!(text.parse(), Ok(0 | UNBOUNDED_HUGEPAGES)),
                _ => true,
            },
            None => self.is_missing(cgroup),
        }
    }

    fn is_missing(&self, cgroup: &PlannedCgroup<'_>) -> bool {
        cgroup.missing.iter().any(|(missing, _)| *missing == self.name)
    }
}

fn hugepage_columns(rows: &[Row<'_, '_>]) -> Vec<FileColumn> {
    let mut columns: Vec<FileColumn> = Vec::new();
    for name in rows.iter().flat_map(|row| &row.cgroup.files).map(|written| &written.file) {
        // The names of files that have a size are made for each.
        let is_new = matches!(name, Cow::Owned(_)) && !columns.iter().any(|it| it.name == *name);
        if is_new && CgroupFile::named(name) == Some(CgroupFile::HugetlbMax) {
            columns.push(FileColumn { file: CgroupFile::HugetlbMax, name: name.clone() });
        }
    }
    columns
}

/// Returns a number of bytes as Kubernetes would write it, which is exact.
fn bytes(text: &str) -> String {
    match text.parse() {
        Ok(UNBOUNDED_HUGEPAGES) => "unbounded".to_owned(),
        Ok(units) => Quantity::from_units(units, Format::BinarySi).to_string(),
        Err(_) => text.to_owned(),
    }
}
