//! Writes a made-up list of pods, or measures how long loading one takes.
//!
//! `pod_list 10000 > list.json` writes it; `pod_list --load list.json` loads it, and
//! `pod_list --skip list.json` only parses its syntax, for comparison.

#[path = "../tests/support/pod_list.rs"]
mod pod_list;

use std::io::Write;

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example is a program of its own"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [mode @ ("--load" | "--skip"), file] => {
            let bytes = std::fs::read(file)?;
            let start = std::time::Instant::now();
            if mode == "--load" {
                let loaded = kq_k8s::manifest::load(file, &bytes);
                let (pods, problems) = (loaded.pods.len(), loaded.problems.len());
                eprintln!("{pods} pods, {problems} problems in {:?}", start.elapsed());
            } else {
                serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)?;
                eprintln!("skipped in {:?}", start.elapsed());
            }
        }
        [count] => std::io::stdout().write_all(pod_list::pod_list(count.parse()?).as_bytes())?,
        _ => return Err("expected a count, --load FILE or --skip FILE".into()),
    }
    Ok(())
}
