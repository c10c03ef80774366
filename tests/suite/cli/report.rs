//! `kq report`: the file, the answers in it, and what is refused. Browsers look at the page in `tests/suite/report`.

use super::{folder_with, kq, repository};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const WORKER: &str = "examples/night/worker-3.json";

/// Writes a page about the stored node of the README, and returns its text.
#[track_caller]
fn written(file: &Path, flags: &str) -> String {
    let ran = kq(&format!("report --snapshot {WORKER} {flags} -o {}", file.display())).run();
    assert!(ran.code == 0 && ran.stdout.is_empty(), "{}", ran.text());
    assert!(ran.stderr.contains("written: "), "{}", ran.stderr);
    fs::read_to_string(file).expect("the page is there")
}

/// Returns an embedded answer of a page.
pub fn embedded(page: &str, name: &str) -> Value {
    let begins = format!("<script type=\"application/json\" id=\"answer-{name}\">");
    let (_, rest) = page.split_once(&begins).unwrap_or_else(|| panic!("no answer {name}"));
    let (json, _) = rest.split_once("</script>").expect("it ends");
    serde_json::from_str(json).expect("it is JSON")
}

#[test]
fn the_page_is_written_for_its_owner_with_the_answers_in_it() {
    let folder = folder_with::<&str>(&[]);
    let file = folder.path().join("report.html");
    let page = written(&file, "");
    let mode = fs::metadata(&file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        kq(&format!("report --snapshot {WORKER}")).run().stdout,
        page,
        "on standard output as well"
    );
    for (name, command) in
        [("doctor", "doctor"), ("gc", "gc dry-run"), ("evict-disk", "evict rank --signal disk")]
    {
        let ran = kq(&format!("{command} --snapshot {WORKER} -ojson")).run();
        let answer: Value = ran.answer();
        assert_eq!(embedded(&page, name), answer, "{name}");
    }
    assert!(!page.contains("id=\"snapshot\"") && !page.contains("http-equiv=\"refresh\""));
}

#[test]
fn a_page_with_its_snapshot_can_be_asked_again() {
    let folder = folder_with::<&str>(&[]);
    let file = folder.path().join("report.html");
    written(&file, "--with-snapshot");
    for command in ["doctor", "gc dry-run", "cgroup diff"] {
        let of_page = kq(&format!("{command} --snapshot {} -ojson", file.display())).run();
        let of_snapshot = kq(&format!("{command} --snapshot {WORKER} -ojson")).run();
        assert_eq!(
            (of_page.code, of_page.stdout),
            (of_snapshot.code, of_snapshot.stdout),
            "{command}"
        );
    }
    let bare = folder.path().join("bare.html");
    let page = written(&bare, "");
    let ran = kq(&format!("doctor --snapshot {}", bare.display())).run();
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("is a report without a snapshot\nhint: kq report --with-snapshot"),
        "{}",
        ran.stderr
    );
    // What is damaged, or of another program, is no snapshot.
    let damaged = page.replace(
        "</html>",
        "<script type=\"application/zstd\" id=\"snapshot\">AAAA!</script></html>",
    );
    for (name, text) in
        [("damaged.html", damaged.as_str()), ("other.html", "<!DOCTYPE html><html></html>")]
    {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("a file can be written");
        let ran = kq(&format!("doctor --snapshot {}", file.display())).run();
        assert!(ran.code == 2 && ran.stdout.is_empty(), "{name}: {}", ran.text());
    }
}

#[test]
fn several_nodes_share_a_page_the_worst_first() {
    let worker = fs::read_to_string(repository().join(WORKER)).expect("it is there");
    let node =
        fs::read_to_string(repository().join("examples/node/snapshot.json")).expect("it is there");
    let folder =
        folder_with(&[("b.json", worker.as_str()), ("a.json", &node), ("broken.json", "{")]);
    let ran = kq(&format!("report {}", folder.path().display())).run();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stdout.contains("<h1>3 nodes</h1>"));
    let index = ran
        .stdout
        .split_once("id=\"nodes\"")
        .and_then(|(_, it)| it.split_once("</table>"))
        .expect("an index")
        .0;
    let place = |text: &str| index.find(text).unwrap_or_else(|| panic!("{text}: {index}"));
    assert!(place(">worker-3<") < place(">broken<"), "an error stands before what is unknown");
    let ran = kq(&format!("report --with-snapshot {}", folder.path().display())).run();
    assert_eq!(ran.code, 2, "{}", ran.text());
}

#[test]
fn a_folder_that_is_not_there_is_missing() {
    let ran = kq("report nosuch-folder").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.text());
    assert!(ran.stderr.contains("cannot read nosuch-folder: no such file"), "{}", ran.text());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (flags, says) in [
        ("-o json", "-o json: here it names the file to store"),
        ("--what-if nonsense", "--what-if \"nonsense\""),
        ("--static", "--preempt-for <FILE>"),
        ("examples/night/worker-3.json --live", "cannot be used with"),
    ] {
        let snapshot = match flags.contains("night") {
            true => "",
            false => "--snapshot examples/night/worker-3.json",
        };
        let ran = kq(&format!("report {flags} {snapshot}")).run();
        assert!(
            ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(says),
            "{flags}: {}",
            ran.text()
        );
    }
}

/// What a page is made of is not replaced by the page.
#[test]
fn the_page_never_takes_the_place_of_its_input() {
    let night =
        std::fs::read(repository().join("examples/night/worker-3.json")).expect("the example");
    let folder = folder_with(&[
        ("node.json", night),
        (
            "kubelet.yaml",
            b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n".to_vec(),
        ),
    ]);
    std::fs::create_dir(folder.path().join("nodes")).expect("a folder");
    std::fs::hard_link(folder.path().join("node.json"), folder.path().join("nodes/a.json"))
        .expect("a link");
    for (line, file) in [
        ("report node.json -o node.json", "node.json"),
        ("report --snapshot node.json -o ./node.json", "node.json"),
        ("report nodes -o node.json", "node.json"),
        (
            "report --snapshot node.json --kubelet-config kubelet.yaml -o kubelet.yaml",
            "kubelet.yaml",
        ),
        (
            "report --snapshot node.json --what-if 'config kubelet.yaml' -o kubelet.yaml",
            "kubelet.yaml",
        ),
    ] {
        let before = std::fs::read(folder.path().join(file)).expect("it is there");
        let ran = kq(line).within(folder.path()).run();
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        assert!(ran.stderr.contains("the page is made of this file"), "{line}: {}", ran.text());
        assert_eq!(std::fs::read(folder.path().join(file)).expect("it is there"), before, "{line}");
    }
}

#[cfg(any(feature = "apiserver", feature = "cri"))]
#[test]
fn a_terminal_gets_no_page() {
    use super::interactive::terminal;
    use std::process::Command;

    let (_own, its) = terminal();
    let ran = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(["report", "--snapshot", WORKER])
        .current_dir(repository())
        .stdout(its)
        .output()
        .expect("kq runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("a page of HTML is not for a terminal\nhint: -o FILE"), "{said}");
}

#[test]
fn the_report_of_the_story_is_fresh_and_small() {
    let ran = kq("report --snapshot examples/night/worker-3.json --preempt-for examples/night/dns.yaml --static")
        .arg("--what-if")
        .arg("set systemReserved.cpu=1500m")
        .run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.len() < 400_000, "{} bytes", ran.stdout.len());
    let file = repository().join("examples/night/report.html");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(&file, &ran.stdout).expect("the example can be written");
    }
    let kept = fs::read_to_string(&file).expect("the example is there");
    assert!(
        kept == ran.stdout,
        "examples/night/report.html is not fresh: SNAPSHOTS=overwrite writes it"
    );
}
