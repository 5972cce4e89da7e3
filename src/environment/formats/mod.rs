//! Syntaxes of configuration files, as trees of JSON. Each reads what a tool reads of usual files,
//! and writes what the tool reads as the same tree.

mod lines;
mod xml;

use serde_json::Value;

use crate::definitions::Format;

/// Reads a file. Fails with the reason in a few words.
pub(crate) fn read(format: Format, text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = match format {
        Format::Npmrc => lines::read_npmrc(text),
        Format::Yarnrc => lines::read_yarnrc(text)?,
        Format::Ini => lines::read_ini(text)?,
        Format::Properties => lines::read_properties(text),
        Format::Toml => toml_edit::de::from_str(text).map_err(|_| "it is no TOML")?,
        Format::Json => serde_json::from_str(text).map_err(|_| "it is no JSON")?,
        Format::Yaml => {
            if text.lines().all(is_nothing) {
                return Ok(Value::Object(serde_json::Map::new()));
            }
            serde_saphyr::from_str(text).map_err(|_| "it is no YAML that can be read here")?
        }
        Format::Xml => xml::read(text)?,
        Format::Secret => return Err("it is never read".to_owned()),
    };
    if value.is_object() {
        Ok(value)
    } else {
        Err("it is no table".to_owned())
    }
}

fn is_nothing(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "---"
}

/// Writes a tree that [`read`] returned, or a part of one.
pub(crate) fn write(format: Format, value: &Value) -> String {
    match format {
        Format::Npmrc => lines::write_npmrc(value),
        Format::Yarnrc => lines::write_yarnrc(value),
        Format::Ini => lines::write_ini(value),
        Format::Properties => lines::write_properties(value),
        Format::Toml => toml_edit::ser::to_string_pretty(value).unwrap_or_default(),
        Format::Json => format!("{value:#}\n"),
        Format::Yaml => lines::write_yaml(value),
        Format::Xml => xml::write(value),
        Format::Secret => String::new(),
    }
}

#[cfg(test)]
mod tests;
