//! floods
