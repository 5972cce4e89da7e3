//! Excel workbook: the non-empty cells of each sheet, in the non-empty columns and rows.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use replay_base::limits::MAX_DOCUMENT_TEXT_BYTES;
use time::Date;

use super::package::{Element, Node, Package, Relation, Xml};
use crate::documents::fault::Fault;
use crate::documents::parts::{Pages, Parts};

/// Maximum number of columns of a sheet.
const MAX_COLUMN: u32 = 16_384;
/// Julian day number of day 0 of a workbook, and of one with the 1904 date system (ECMA-376, part
/// 1, 18.17.4.1).
const DAY_ZERO: [i32; 2] = [2_415_019, 2_416_481];
/// Seconds per day.
const DAY_SECS: f64 = 86_400.0;

struct Sheet {
    name: String,
    is_hidden: bool,
    relation: String,
}

/// Data that cells refer to.
#[derive(Default)]
struct Workbook {
    strings: Vec<String>,
    /// `true` for each cell format whose numbers are dates.
    dates: Vec<bool>,
    day_zero: i32,
}

pub(super) fn write(
    package: &mut Package<'_>,
    main: &str,
    pages: Option<Pages>,
    parts: &mut Parts,
) -> Result<(), Fault> {
    let relations = package.relations(main)?;
    let target = |kind: &str| {
        relations
            .values()
            .find(|relation| relation.kind == kind)
            .map(|found| found.target.as_str())
    };
    let mut book = Workbook {
        day_zero: DAY_ZERO[0],
        ..Workbook::default()
    };
    let sheets = sheets(package.part(main)?, &mut book)?;
    if let Some(mut xml) = target("sharedStrings")
        .map(|strings| package.part(strings))
        .transpose()?
    {
        book.strings = strings(&mut xml)?;
    }
    if let Some(mut xml) = target("styles")
        .map(|styles| package.part(styles))
        .transpose()?
    {
        book.dates = dates(&mut xml)?;
    }
    for number in Parts::chosen(pages, "sheet", sheets.len())? {
        let Sheet {
            name,
            is_hidden,
            relation,
        } = &sheets[number - 1];
        let hidden = if *is_hidden { " (hidden)" } else { "" };
        parts.begin(&format!(
            "sheet {number} of {}: {name}{hidden}",
            sheets.len()
        ))?;
        match relations.get(relation) {
            Some(Relation { kind, target }) if kind == "worksheet" => {
                table(package.part(target)?, &book, parts)?;
            }
            _ => parts.line("[no sheet of cells]")?,
        }
    }
    Ok(())
}

fn sheets(mut xml: Xml<'_, '_>, book: &mut Workbook) -> Result<Vec<Sheet>, Fault> {
    let mut found = Vec::new();
    while let Some(node) = xml.next()? {
        let Node::Open(element) = node else { continue };
        match element.name.as_str() {
            "workbookPr" if matches!(element.attribute("date1904"), "1" | "true") => {
                book.day_zero = DAY_ZERO[1];
            }
            "sheet" => found.push(Sheet {
                name: element.attribute("name").to_owned(),
                is_hidden: !matches!(element.attribute("state"), "" | "visible"),
                relation: element.relation().to_owned(),
            }),
            _ => {}
        }
    }
    Ok(found)
}

fn strings(xml: &mut Xml<'_, '_>) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    while let Some(node) = xml.next()? {
        if let Node::Open(element) = node
            && element.name == "si"
        {
            found.push(text_of(xml, "si")?);
        }
    }
    Ok(found)
}

/// Returns the text in the open element, without phonetic text (`rPh`).
fn text_of(xml: &mut Xml<'_, '_>, name: &str) -> Result<String, Fault> {
    let (mut text, mut is_text, mut is_spoken) = (String::new(), false, false);
    while let Some(node) = xml.next()? {
        match node {
            Node::Close(closed) if closed == name => break,
            Node::Open(Element { name, .. }) => {
                is_text |= name == "t";
                is_spoken |= name == "rPh";
            }
            Node::Close(closed) => {
                is_text &= closed != "t";
                is_spoken &= closed != "rPh";
            }
            Node::Text(words) if is_text && !is_spoken => text.push_str(&words),
            Node::Text(_) => {}
        }
    }
    Ok(text)
}

fn dates(xml: &mut Xml<'_, '_>) -> Result<Vec<bool>, Fault> {
    let (mut own, mut formats, mut is_of_cells) = (HashMap::new(), Vec::new(), false);
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(element) => match element.name.as_str() {
                "numFmt" => {
                    let is_date = is_date(element.attribute("formatCode"));
                    own.insert(element.attribute("numFmtId").to_owned(), is_date);
                }
                "cellXfs" => is_of_cells = true,
                "xf" if is_of_cells => {
                    let id = element.attribute("numFmtId");
                    // ECMA-376, part 1, 18.8.30: predefined formats.
                    let is_known = matches!(id.parse(), Ok(14..=22 | 27..=36 | 45..=47 | 50..=58));
                    formats.push(own.get(id).copied().unwrap_or(is_known));
                }
                _ => {}
            },
            Node::Close(name) if name == "cellXfs" => is_of_cells = false,
            Node::Close(_) | Node::Text(_) => {}
        }
    }
    Ok(formats)
}

/// Returns true if a format shows dates or times: one of its letters is outside of quotes, brackets
/// and escapes.
fn is_date(code: &str) -> bool {
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => drop(letters.find(|next| *next == '"')),
            '[' => drop(letters.find(|next| *next == ']')),
            '\\' | '_' | '*' => drop(letters.next()),
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => return true,
            _ => {}
        }
    }
    false
}

fn table(mut xml: Xml<'_, '_>, book: &Workbook, parts: &mut Parts) -> Result<(), Fault> {
    let (mut rows, mut columns, mut bytes) =
        (Vec::<(u32, Vec<(u32, String)>)>::new(), BTreeSet::new(), 0);
    let (mut row, mut column) = (0_u32, 0_u32);
    while let Some(node) = xml.next()? {
        let Node::Open(element) = node else { continue };
        match element.name.as_str() {
            "row" => {
                row = element
                    .attribute("r")
                    .parse()
                    .unwrap_or(row.saturating_add(1));
                column = 0;
            }
            "c" => {
                column = column_number(element.attribute("r"))
                    .unwrap_or(column + 1)
                    .min(MAX_COLUMN);
                let value = value(&mut xml, &element, book)?;
                if value.is_empty() {
                    continue;
                }
                bytes += value.len();
                if bytes > MAX_DOCUMENT_TEXT_BYTES {
                    return Err(Parts::too_long());
                }
                columns.insert(column);
                match rows.last_mut().filter(|(last, _)| *last == row) {
                    Some((_, cells)) => cells.push((column, value)),
                    None => rows.push((row, vec![(column, value)])),
                }
            }
            _ => {}
        }
    }
    let names: Vec<String> = columns.iter().map(|column| column_name(*column)).collect();
    if !names.is_empty() {
        parts.line(&format!("row\t{}", names.join("\t")))?;
    }
    for (row, cells) in rows {
        let cells: HashMap<u32, String> = cells.into_iter().collect();
        let mut line = row.to_string();
        for column in &columns {
            line.push('\t');
            line.push_str(cells.get(column).map_or("", String::as_str));
        }
        parts.line(line.trim_end_matches('\t'))?;
    }
    Ok(())
}

/// Returns the text of the open cell: for a formula its cached value, or the formula itself if
/// there is none.
fn value(xml: &mut Xml<'_, '_>, cell: &Element, book: &Workbook) -> Result<String, Fault> {
    let (mut raw, mut formula, mut open) = (String::new(), String::new(), String::new());
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(element) if element.name == "is" => raw = text_of(xml, "is")?,
            Node::Open(element) => open = element.name,
            Node::Text(text) if open == "v" => raw.push_str(&text),
            Node::Text(text) if open == "f" => formula.push_str(&text),
            Node::Text(_) => {}
            Node::Close(name) if name == "c" => break,
            Node::Close(_) => open.clear(),
        }
    }
    let shown = match cell.attribute("t") {
        _ if raw.is_empty() && !formula.is_empty() => format!("={formula}"),
        "s" => raw
            .trim()
            .parse()
            .ok()
            .and_then(|index: usize| book.strings.get(index).cloned())
            .unwrap_or_default(),
        "b" => if raw.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "" | "n" => match raw.trim().parse::<f64>() {
            Ok(number)
                if cell
                    .attribute("s")
                    .parse()
                    .is_ok_and(|style: usize| book.dates.get(style) == Some(&true)) =>
            {
                date(number, book.day_zero).unwrap_or(raw)
            }
            Ok(number) => number.to_string(),
            Err(_) => raw,
        },
        _ => raw,
    };
    Ok(shown.replace('\t', " ").replace('\n', "\\n"))
}

/// Formats a number of days as a date, a time, or both.
fn date(number: f64, day_zero: i32) -> Option<String> {
    let seconds = (number * DAY_SECS).round();
    let (days, second) = (
        (seconds / DAY_SECS).floor(),
        seconds.rem_euclid(DAY_SECS) as i64,
    );
    if !(0.0..3_000_000.0).contains(&days) {
        return None;
    }
    // Day 60 is the 29th of February 1900, which did not exist.
    let days = days as i32 + i32::from(day_zero == DAY_ZERO[0] && (1.0..60.0).contains(&days));
    let mut text = String::new();
    if days > 0 {
        let (year, month, day) = Date::from_julian_day(day_zero + days)
            .ok()?
            .to_calendar_date();
        // Writing to a String cannot fail.
        let _ = write!(text, "{year:04}-{:02}-{day:02}", u8::from(month));
    }
    if second > 0 || days == 0 {
        let gap = if text.is_empty() { "" } else { " " };
        let _ = write!(
            text,
            "{gap}{:02}:{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        );
    }
    Some(text)
}

/// Returns the column of a cell name such as `AB12`, from 1.
fn column_number(name: &str) -> Option<u32> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let column = letters.fold(0, |column, letter| {
        column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    (1..=MAX_COLUMN).contains(&column).then_some(column)
}

fn column_name(mut column: u32) -> String {
    let mut name = Vec::new();
    while column > 0 {
        name.push(char::from(b'A' + ((column - 1) % 26) as u8));
        column = (column - 1) / 26;
    }
    name.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn number_format_determines_dates() {
        let codes = [
            "General",
            "0.00",
            "yyyy-mm-dd",
            "[Red]0",
            "\"day\" 0",
            "\\d0",
            "[h]:mm",
            "0%",
            "d/m",
        ];
        assert_eq!(
            codes.map(is_date),
            [false, false, true, false, false, false, true, false, true]
        );
        let shown =
            [1.0, 59.0, 61.0, 0.5, 45_000.25, -1.0, 1e18].map(|number| date(number, DAY_ZERO[0]));
        let expected = [
            "1900-01-01",
            "1900-02-28",
            "1900-03-01",
            "12:00:00",
            "2023-03-15 06:00:00",
        ]
        .map(str::to_owned);
        assert_eq!(shown[..5], expected.map(Some));
        assert_eq!(shown[5..], [None, None]);
        assert_eq!(date(0.0, DAY_ZERO[1]), Some("00:00:00".to_owned()));
        assert_eq!(date(1.0, DAY_ZERO[1]), Some("1904-01-02".to_owned()));
    }

    #[test]
    fn column_names_round_trip() {
        for (column, name) in [(1, "A"), (26, "Z"), (27, "AA"), (16_384, "XFD")] {
            assert_eq!(
                (column_name(column), column_number(&format!("{name}7"))),
                (name.to_owned(), Some(column))
            );
        }
        assert_eq!(
            ["", "7", "XFE1", "ZZZZZZZZZZZ"].map(column_number),
            [None; 4]
        );
    }
}
