//! Small problem packages for tests.
