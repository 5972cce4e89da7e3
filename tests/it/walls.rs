//! The kernel walls: the attack battery and the attempts of a shell, against the program as it is started.
//!
//! Each test runs in both tiers and, where the tests run as root, also as a user without rights. A tier that cannot be
//! built here is said and left out, unless `REPLAY_TEST_REQUIRE_SANDBOX` is set.

mod battery;
mod direct;
