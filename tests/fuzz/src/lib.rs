//! What the targets share. `cargo fuzz` builds them with `--cfg fuzzing`, and libFuzzer gives the bytes; otherwise a target
//! is a program that takes the files named on its command line, so that a crash is shown again by
//! `cargo run --package kq-fuzz --bin TARGET FILE...`.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "targets are programs of their own"
)]

#[cfg(not(fuzzing))]
#[doc(hidden)]
pub use arbitrary;
#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;

/// Makes a target of a closure over what [`arbitrary`] makes of the bytes.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        fn main() -> std::io::Result<()> {
            $crate::replay(|bytes| {
                let bytes = $crate::arbitrary::Unstructured::new(bytes);
                if let Ok($input) =
                    <$kind as $crate::arbitrary::Arbitrary>::arbitrary_take_rest(bytes)
                {
                    $body
                }
            })
        }
    };
}

/// Gives the target each file of the command line.
///
/// # Errors
///
/// A file that cannot be read.
#[cfg(not(fuzzing))]
pub fn replay(target: impl Fn(&[u8])) -> std::io::Result<()> {
    for file in std::env::args_os().skip(1) {
        println!("{}", file.display());
        target(&std::fs::read(file)?);
    }
    Ok(())
}
