//! The habits of kubectl and crictl: each row of `docs/kubectl-users.md` runs.

use super::{Ran, kq, repository};

/// The names of pods on the recorded node, with their namespaces.
const NODE: &str = "examples/night/worker-3.json";

#[test]
fn every_row_of_the_document_is_answered() {
    let text = std::fs::read_to_string(repository().join("docs/kubectl-users.md"))
        .expect("the document is there");
    let mut snapshot = "";
    let mut rows = 0;
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("    export KQ_SNAPSHOT=") {
            snapshot = named;
        }
        let cells: Vec<&str> = line.split("` | `").collect();
        let [habit, command] = cells.as_slice() else { continue };
        assert!(habit.starts_with("| `kubectl ") || habit.starts_with("| `crictl "), "{line}");
        let command = command.strip_suffix("` |").and_then(|it| it.strip_prefix("kq "));
        let command = command.unwrap_or_else(|| panic!("{line}"));
        let ran = kq(command).env("KQ_SNAPSHOT", snapshot).run();
        assert!(ran.code != 2 && !ran.stdout.is_empty(), "kq {command}: {}", ran.text());
        let said = format!("snapshot: {snapshot}, named by KQ_SNAPSHOT");
        assert!(ran.stderr.starts_with(&said), "kq {command}: {}", ran.stderr);
        rows += 1;
    }
    assert!(rows >= 20, "{rows}");
}

fn on_node(line: &str) -> Ran {
    kq(line).env("KQ_SNAPSHOT", NODE).run()
}

#[test]
fn a_namespace_is_of_names_and_lists() {
    let shop = on_node("cgroup show -n shop -o json").stdout;
    assert!(shop.contains("cart-0") && !shop.contains("scratch"), "{shop}");
    assert_eq!(
        on_node("cgroup show cart-0 -n shop").stdout,
        on_node("cgroup show shop/cart-0").stdout
    );
    for (line, expected) in [
        ("cgroup show cart-0 -n batch", "no pod batch/cart-0 on this node"),
        ("cgroup show -n other", "no pod in namespace other on this node"),
        ("cgroup diff shop/cart-0 -n batch", "are two namespaces"),
        ("cgroup show cart-0 -n shop -A", "cannot be used with"),
        ("admit explain -f examples/night/dns.yaml -n shop", "say their own"),
        ("devices plan cart-1 -n shop", "no pod shop/cart-1"),
        ("probe plan cart-1 -n shop", "did you mean shop/cart-0?"),
        ("cgroup show card-0", "did you mean shop/cart-0?"),
    ] {
        let ran = on_node(line);
        assert!(ran.code == 2 && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
}

#[test]
fn the_environment_names_the_snapshot() {
    let by_flag = kq(&format!("cgroup show --snapshot {NODE}")).run();
    assert_eq!(on_node("cgroup show").stdout, by_flag.stdout);
    // The flag wins, and then the variable is not spoken of.
    let both = kq("cgroup show").env("KQ_SNAPSHOT", "none.json").arg("--snapshot").arg(NODE).run();
    assert_eq!(both.text(), by_flag.text());
    let empty = kq("schema").env("KQ_SNAPSHOT", "").run();
    assert_eq!((empty.code, empty.stderr.as_str()), (0, ""));
    for line in ["cgroup show --host-root /x", "cgroup show -w", "gc images -r unix:///x.sock"] {
        let ran = on_node(line);
        let hint = format!("hint: KQ_SNAPSHOT stands for --snapshot here: {NODE}; unset it\n");
        assert!(ran.code == 2 && ran.stderr.ends_with(&hint), "kq {line}: {}", ran.text());
    }
    let missing = kq("gc images").env("KQ_SNAPSHOT", "none.json").run();
    assert!(missing.stderr.contains("none.json, named by KQ_SNAPSHOT"), "{}", missing.stderr);
}

#[test]
fn formats_are_those_of_kubectl() {
    let rank = "evict rank --signal memory -n shop";
    let names = on_node(&format!("{rank} -o name")).stdout;
    assert!(names.lines().all(|line| line.starts_with("pod/")), "{names}");
    let paths = on_node(&format!("{rank} -o jsonpath={{.items[*].name}}")).stdout;
    let listed: Vec<&str> = names.lines().filter_map(|line| line.strip_prefix("pod/")).collect();
    assert_eq!(paths.split(' ').collect::<Vec<_>>(), listed);
    let columns = on_node(&format!("{rank} -o custom-columns=NAME:.name --no-headers")).stdout;
    assert_eq!(columns.lines().collect::<Vec<_>>(), listed);
    for (format, expected) in [
        ("name", "the rows of this answer have no names"),
        ("jsonpath={.items", "{ without }"),
        ("custom-columns=NAME", "expected HEADING:PATH"),
    ] {
        let ran = on_node(&format!("gc policy -o {format}"));
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{format}: {}", ran.text());
    }
}

#[test]
fn an_unknown_flag_is_no_value() {
    for line in ["gc images -n shop", "gc policy -l app=web", "schema -x"] {
        let ran = kq(line).run();
        assert!(ran.code == 2 && !ran.stderr.contains("as a value"), "kq {line}: {}", ran.text());
    }
}
