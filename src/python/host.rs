//! What a session uses of its server: launcher, places for programs that stay, policy, writer.

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
