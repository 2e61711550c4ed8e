//! Numbers and white space as the specification and C know them.

/// The six white-space characters of 2025-09 ("Output parsing"), which are those of C's default locale.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

/// The value of a token that is a number: decimal, with or without point and exponent, or hexadecimal
/// (`0x1.8p3`). Infinities, NaN and what overflows to infinity are no numbers, as in the reference validator.
pub(super) fn parse(token: &[u8]) -> Option<f64> {
    // Rust would take `inf` and `nan` as well; every number begins like this.
    let unsigned = match token {
        [b'+' | b'-', rest @ ..] => rest,
        rest => rest,
    };
    if !matches!(unsigned, [b'0'..=b'9' | b'.', ..]) {
        return None;
    }
    let value = match unsigned {
        [b'0', b'x' | b'X', digits @ ..] => {
            let value = hexadecimal(digits)?;
            if token[0] == b'-' { -value } else { value }
        }
        _ => std::str::from_utf8(token).ok()?.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// Hexadecimal digits with an optional point, then an optional binary exponent.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let exponent_at = text.iter().position(|b| matches!(b, b'p' | b'P'));
    let (mantissa, exponent) = match exponent_at {
        Some(at) => (&text[..at], std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let mut value = 0.0;
    let mut scale = None;
    let mut digits = 0;
    for byte in mantissa {
        match (byte, scale) {
            (b'.', None) => scale = Some(0),
            _ => {
                value = value * 16.0 + f64::from((*byte as char).to_digit(16)?);
                scale = scale.map(|s: i32| s - 4);
                digits += 1;
            }
        }
    }
    let power = exponent.saturating_add(scale.unwrap_or(0));
    (digits > 0).then(|| value * 2f64.powi(power.clamp(-5000, 5000)))
}
