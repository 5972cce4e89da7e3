//! HTML pages: common style, page header, and escaped text.

use super::escape::harmless;

/// Style of every page.
pub const STYLE: &str = include_str!("style.css");

const LOGO: &str = "<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect width=\"16\" height=\"16\" rx=\"4\" fill=\"#2f5bd7\"/>\
                    <path d=\"M6 4.5v7l5.5-3.5z\" fill=\"#fff\"/></svg>";

/// Returns the beginning of a page with this title, up to its content. `beside` is markup for the
/// header; the page must be closed with `</main></body></html>`.
pub fn begin(title: &str, beside: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>replay: {}</title>\
         <style>{STYLE}</style></head>\n<body><header><h1>{LOGO}replay</h1>{beside}</header>\n<main class=\"text\">\n",
        escaped(title)
    )
}

/// Escapes text for use between tags or in attributes.
pub fn escaped(text: &str) -> String {
    harmless(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
