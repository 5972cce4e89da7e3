//! Notes of replies: what a call changed, what was refused, ended, cut or not searched.

pub(crate) mod cell;
pub(crate) mod changes;
pub(crate) mod command;
pub(crate) mod diff;
pub(crate) mod dry_run;
pub(crate) mod globs;
pub(crate) mod ignored;
pub(crate) mod not_searched;
pub(crate) mod output;
pub(crate) mod ports;
pub(crate) mod remakeable;
