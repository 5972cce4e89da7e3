//! Server resources that a session uses: launcher, slots for resident programs, policy, writer.

use replay_files::fs::CallWriter;
use replay_files::policy::Policy;
use replay_sandbox::exec::{Launcher, Slots};

#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    pub launcher: &'a Launcher,
    pub residents: &'a Slots,
    pub policy: &'a Policy,
    pub writer: CallWriter<'a>,
}
