//! What a virtual machine may say on its port: frames, and documents in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vm::frame::{self, Kind};

fuzz_target!(|bytes: &[u8]| {
    let mut from = bytes;
    while let Ok(Some(frame)) = frame::read(&mut from) {
        assert!(frame.content.len() <= bytes.len(), "no more than came");
        if frame.kind == Kind::Document {
            vm::check_told(&frame.content);
        }
    }
});
