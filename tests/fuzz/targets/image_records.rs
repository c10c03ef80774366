//! Whatever a file of records holds, reading it ends without a panic, what was read comes back from what
//! is written, and what a detection makes of it can be read again.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::image_records::ImageRecords;
use kq_facts::runtime::Image;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::Keys;
use kq_image_gc::record::{key, record};

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let Ok(records) = ImageRecords::parse(bytes) else { return };
    assert_eq!(stored(&records), records, "it comes back as it was");
    // Every third image is gone, every other one that stays is in use, and some are new.
    let known = records.images.iter().enumerate().filter(|(index, _)| index % 3 != 2);
    let mut images: Vec<Image> =
        known.map(|(_, known)| image(&known.id, &known.runtime_handler)).collect();
    images.extend([image("sha256:new", ""), image("sha256:new", "kata"), image("", "")]);
    let used = images.iter().step_by(2);
    let in_use: Keys = used.map(|image| key(&image.id, &image.runtime_handler).into()).collect();
    let minute = 60_000_000_000;
    for later in [0, 1, 10 * minute, 10 * minute + 1, i64::MAX] {
        let now = records.detected_at.plus(later);
        let after = record(Some(&records), now, &images, &in_use).expect("the clock goes on");
        assert_eq!(stored(&after), after, "what is recorded can be read");
        let last = record(Some(&after), now, &[], &in_use).expect("the clock stands still");
        assert!(last.images.is_empty() && stored(&last) == last);
    }
    if let Some(before) = records.detected_at.0.checked_sub(1) {
        record(Some(&records), Timestamp(before), &images, &in_use).expect_err("the past");
    }
});

fn image(id: &str, runtime_handler: &str) -> Image {
    let (id, runtime_handler) = (id.to_owned(), runtime_handler.to_owned());
    Image { id, runtime_handler, ..Image::default() }
}

fn stored(records: &ImageRecords) -> ImageRecords {
    let bytes = serde_json::to_vec(records).expect("it is stored");
    ImageRecords::parse(&bytes).expect("it comes back")
}
