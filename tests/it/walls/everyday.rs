//! everyday
