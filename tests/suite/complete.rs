//! A test file that no module names is never compiled and never fails; this finds it.

use std::path::Path;

#[test]
fn every_file_is_a_module() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let mut forgotten = Vec::new();
    look_into(&suite, "main.rs", &mut forgotten);
    assert!(forgotten.is_empty(), "no `mod` names {forgotten:?}");
}

/// Looks for `mod NAME;` in the folder's own file for each file and folder in it.
fn look_into(folder: &Path, own: &str, forgotten: &mut Vec<String>) {
    let text = std::fs::read_to_string(folder.join(own))
        .unwrap_or_else(|error| panic!("{}/{own}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let is_module = path.is_dir() && path.join("mod.rs").exists();
        if !(is_rust || is_module) || path.ends_with(own) {
            continue;
        }
        let named =
            text.lines().any(|line| line.trim_start_matches("pub ") == format!("mod {name};"));
        if !named {
            forgotten.push(path.display().to_string());
        }
        if is_module {
            look_into(&path, "mod.rs", forgotten);
        }
    }
}
