//! Offcore response masks: which requests of a core are counted, by where they were answered. Taken apart and put together, for
//! every generation whose table is in `data/offcore`. Pure.

mod decode;
mod encode;
mod table;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::{EncodeError, encode, request_names, response_names};
pub use table::{Generation, Numa, Rule, generation, generations, of_processor};

/// A mask as people write it: `0x20ff`, or in decimal without `0x`. Underscores may stand between digits.
///
/// # Errors
/// It is no number of 64 bits.
pub fn parse_mask(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace('_', "");
    let number = match plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => plain.parse(),
    };
    number.map_err(|_| format!("`{text}` is not a mask\nhint: write it as 0x20ff, or in decimal"))
}
