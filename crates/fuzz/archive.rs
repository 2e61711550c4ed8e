//! Archives as strangers send them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::{UnpackLimits, unpack};
use std::collections::BTreeSet;
use std::path::{Component, Path};

const LIMITS: UnpackLimits = UnpackLimits { entries: 8, total_size: 1 << 16, depth: 4 };

fuzz_target!(|bytes: &[u8]| {
    let Ok(files) = unpack(bytes, LIMITS) else { return };
    let size: usize = files.iter().map(|file| file.content.len()).sum();
    assert!(files.len() <= LIMITS.entries && size as u64 <= LIMITS.total_size, "{size} bytes");
    let mut names = BTreeSet::new();
    for file in &files {
        let plain = Path::new(&file.name).components().all(|part| matches!(part, Component::Normal(_)));
        let depth = file.name.split('/').count();
        assert!(plain && depth <= LIMITS.depth && names.insert(&file.name), "{:?}", file.name);
    }
});
