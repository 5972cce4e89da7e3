//! Bar chart as a self-contained SVG: no script or font, with colours for light and dark pages.

use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 90.0;
const BAR: f64 = 16.0;
const STEP: f64 = 21.0;
const HEAD: f64 = 24.0;
const TOP: f64 = 56.0;

const STYLE: &str = "\
<style>\
text{font:12px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600}.h{font-size:15px;font-weight:600}.d{fill:#59636e}\
.slow{fill:#0969da}.fast{fill:#bc4c00}.grid{stroke:#d1d9e0}.one{stroke:#1f2328;stroke-width:1.5}.bg{fill:#ffffff}\
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.d{fill:#9198a1}.slow{fill:#4493f8}.fast{fill:#db6d28}\
.grid{stroke:#3d444d}.one{stroke:#f0f6fc}.bg{fill:#0d1117}}\
</style>";

/// Draws groups of bars on one logarithmic scale. Each bar is a multiple of the base in the title
/// of its group, which is the line at 1.
pub fn svg(heading: &str, groups: &[(String, Vec<(String, f64)>)]) -> String {
    let all = groups
        .iter()
        .flat_map(|(_, bars)| bars)
        .map(|(_, ratio)| *ratio);
    let (low, high) = all.fold((0.5_f64, 2.0_f64), |(low, high), ratio| {
        (low.min(ratio), high.max(ratio))
    });
    let (low, high) = (low.log10().mul_add(1.0, -0.05), high.log10() + 0.05);
    let x = |ratio: f64| LEFT + (ratio.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let lines: usize = groups.iter().map(|(_, bars)| bars.len()).sum();
    let height = TOP + groups.len() as f64 * (HEAD + 8.0) + lines as f64 * STEP + 12.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{heading}\">{STYLE}\
         <rect class=\"bg\" width=\"100%\" height=\"100%\"/>\
         <text class=\"h\" x=\"16\" y=\"24\">{heading}</text>"
    );
    for power in -3..=5 {
        let mark = 10_f64.powi(power);
        if mark.log10() < low || mark.log10() > high {
            continue;
        }
        let class = if power == 0 { "one" } else { "grid" };
        let at = x(mark);
        let _ = write!(
            out,
            "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"48\" y2=\"{:.0}\"/>\
             <text class=\"d\" x=\"{at:.1}\" y=\"44\" text-anchor=\"middle\">{mark}x</text>",
            height - 8.0
        );
    }
    let mut y = TOP;
    for (title, bars) in groups {
        y += HEAD;
        let _ = write!(
            out,
            "<text class=\"t\" x=\"16\" y=\"{:.1}\">{}</text>",
            y - 7.0,
            escaped(title)
        );
        for (name, ratio) in bars {
            let (from, to) = (x(1.0).min(x(*ratio)), x(1.0).max(x(*ratio)));
            let class = if *ratio >= 1.0 { "slow" } else { "fast" };
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 8.0,
                y + 12.5,
                escaped(name),
                y,
                (to - from).max(1.0),
                to + 6.0,
                y + 12.5,
                if *ratio >= 10.0 {
                    format!("{ratio:.0}x")
                } else {
                    format!("{ratio:.2}x")
                }
            );
            y += STEP;
        }
        y += 8.0;
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
