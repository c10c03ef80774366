//! Whatever the bytes of an answer, and in whatever portions they come, reading them ends without a panic,
//! what is kept is bounded, and the portions in which a head comes make no difference to it.
#![cfg_attr(fuzzing, no_main)]

use kq_probe::http::{End, Progress, ResponseReader};

kq_fuzz::fuzz_target!(|input: (u8, bool, &[u8])| {
    let (step, resets, bytes) = input;
    let end = || match resets {
        true => End::Error { text: "reset".to_owned(), repeats: step % 2 == 0 },
        false => End::Eof,
    };
    let whole = read(bytes, usize::MAX, end());
    let portions = read(bytes, usize::from(step) + 1, end());
    assert_eq!(whole.0, portions.0);
    assert_eq!(whole.1, portions.1);
});

/// Reads an answer and returns its status, and why it has none.
fn read(mut bytes: &[u8], step: usize, end: End) -> (Option<u16>, Option<Vec<u8>>) {
    let (mut reader, mut status) = (ResponseReader::new(), None);
    loop {
        match reader.advance() {
            Progress::More if bytes.is_empty() => reader.end(end.clone()),
            Progress::More => {
                let most = step.min(reader.room()).min(bytes.len());
                assert!(most > 0);
                let taken = reader.feed(&bytes[..most]);
                assert_eq!(taken, most);
                bytes = &bytes[taken..];
            }
            Progress::Head => {
                status = reader.head().map(|head| head.status);
                assert!(reader.head_bytes().len() <= 64 * 1024);
                reader.read_body(10240);
            }
            Progress::End => {
                assert!(reader.body().len() <= 10240);
                return (status, None);
            }
            Progress::Failed(error) => {
                assert!(reader.body().len() <= 10240);
                assert!(!error.text.is_empty());
                assert_eq!(error.in_body, status.is_some());
                return (status, (!error.in_body).then_some(error.text));
            }
        }
    }
}
