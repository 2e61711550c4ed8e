//! Flags of the default output validator.

use super::number;
use crate::package::Format;

/// How outputs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// `case_sensitive`.
    pub case_sensitive: bool,
    /// `space_change_sensitive`.
    pub space_change_sensitive: bool,
    /// `float_absolute_tolerance`; not negative.
    pub absolute: Option<f64>,
    /// `float_relative_tolerance`; not negative.
    pub relative: Option<f64>,
}

/// A flag the default output validator does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareFlagError {
    /// No flag of that name.
    #[error(
        "unknown output validator flag `{0}`\nhint: the default validator takes case_sensitive, \
         space_change_sensitive, float_tolerance, float_relative_tolerance and float_absolute_tolerance"
    )]
    Unknown(String),
    /// A tolerance without a number.
    #[error("output validator flag `{0}` needs a tolerance after it, such as `{0} 1e-6`")]
    Missing(String),
    /// A tolerance that is none.
    #[error("output validator flag `{flag}`: `{value}` is not a tolerance (a number from 0)")]
    Tolerance {
        /// The flag.
        flag: String,
        /// What follows it.
        value: String,
    },
    /// 2025-09 refuses tolerances that are given twice.
    #[error("output validator flag `{0}` sets a tolerance that is already set")]
    Repeated(String),
}

impl CompareOptions {
    /// Reads the flags of a test case. In 2025-09 a tolerance may be set once ("Comparing floating-point
    /// tokens"); in the legacy formats, where flags of several levels are joined, the last one counts.
    pub fn parse(flags: &[String], format: Format) -> Result<CompareOptions, CompareFlagError> {
        let mut options = CompareOptions::default();
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            let (absolute, relative) = match flag.as_str() {
                "case_sensitive" => {
                    options.case_sensitive = true;
                    continue;
                }
                "space_change_sensitive" => {
                    options.space_change_sensitive = true;
                    continue;
                }
                "float_tolerance" => (true, true),
                "float_absolute_tolerance" => (true, false),
                "float_relative_tolerance" => (false, true),
                _ => return Err(CompareFlagError::Unknown(flag.clone())),
            };
            let value = flags.next().ok_or_else(|| CompareFlagError::Missing(flag.clone()))?;
            let tolerance = number::parse(value.as_bytes()).filter(|t| *t >= 0.0);
            let wrong = || CompareFlagError::Tolerance { flag: flag.clone(), value: value.clone() };
            let tolerance = tolerance.ok_or_else(wrong)?;
            let repeated =
                (absolute && options.absolute.is_some()) || (relative && options.relative.is_some());
            if repeated && format == Format::V2025_09 {
                return Err(CompareFlagError::Repeated(flag.clone()));
            }
            if absolute {
                options.absolute = Some(tolerance);
            }
            if relative {
                options.relative = Some(tolerance);
            }
        }
        Ok(options)
    }

    pub(super) fn tolerant(&self) -> bool {
        self.absolute.is_some() || self.relative.is_some()
    }

    pub(super) fn same(&self, a: u8, b: u8) -> bool {
        a == b || (!self.case_sensitive && a.eq_ignore_ascii_case(&b))
    }
}
