//! Notes of replies: what a call changed, what was refused, ended, cut or not searched.

pub mod cell;
pub mod changes;
pub mod command;
pub mod diff;
pub mod dry_run;
pub mod globs;
pub mod not_searched;
pub mod output;
