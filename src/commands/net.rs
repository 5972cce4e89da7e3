//! `replay net`: what rules about the network can name.

use std::fmt::Write as _;

use crate::egress::SETS;

/// A line for each set, and below it its rules.
pub fn sets() -> String {
    let mut text = String::new();
    for set in SETS {
        let _ = writeln!(text, "@{}  {}", set.name, set.about);
        for rule in set.rules {
            let _ = writeln!(text, "    {rule}");
        }
    }
    text + "Whoever may publish at one of these may read what commands send there.\n"
}
