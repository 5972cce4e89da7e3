//! Server resources that a session uses: launcher, slots for resident programs, policy, writer.

use crate::exec::{Launcher, Slots};
use crate::fs::CallWriter;
use crate::policy::Policy;

#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    pub launcher: &'a Launcher,
    pub residents: &'a Slots,
    pub policy: &'a Policy,
    pub writer: CallWriter<'a>,
}
