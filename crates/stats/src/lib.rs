//! Robust statistics of repeated measurements. Pure: numbers in, numbers out; randomness is seeded by the caller.
//!
//! Times of programs are skewed and bounded below, so the centre is the median, the spread is the range, and tests make no
//! assumption about the shape. Where a value is not finite there is no answer (`None`), but for [`shape`],
//! [`correlated`] and [`outliers`], which look at the others.

mod compare;
mod cusum;
mod fleet;
mod interval;
mod normal;
mod outlier;
mod paired;
mod random;
mod rank;
mod rounds;
mod sensitivity;
mod shape;
mod spread;
mod summary;

pub use compare::{Comparison, compare, paired_difference};
pub use cusum::{EventCusum, run_length, siegmund_run_length, tally_run_length, threshold_for};
pub use fleet::{Drift, Fleet, NestedVariance, drift, nested_variance};
pub use interval::{Interval, binomial_interval, median_interval, more_runs, quantile_interval};
pub use normal::{normal_below, normal_beyond};
pub use outlier::{Outlier, outliers, robust_z};
pub use paired::{detectable_shift, finds_shift, shift, shift_interval};
pub use random::Random;
pub use rank::{MannWhitney, mann_whitney};
pub use rounds::Rounds;
pub use sensitivity::{chance, range};
pub use shape::{Shape, Warning, autocorrelation, correlated, shape, shape_of};
pub use spread::{spread, spreads_differ};
pub use summary::{Summary, median, quantile};
