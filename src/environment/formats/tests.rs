//! Each syntax: what is read of usual files, and that the written text is read as the same.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(format: Format, text: &str, tree: &Value, written: &str) {
    assert_eq!(read(format, text).as_ref(), Ok(tree));
    assert_eq!(write(format, tree), written);
    assert_eq!(read(format, written).as_ref(), Ok(tree));
}

#[test]
fn npmrc_is_read_and_written() {
    check(
        Format::Npmrc,
        "; c\n# c\nregistry = https://r/\n@a:registry=\"https://s/\"\n//h/:_authToken=${T}\nstrict-ssl\nca[]=\"a\\nb\"\nca[] = c\n\
         save-prefix=\"\"\n",
        &json!({
            "registry": "https://r/", "@a:registry": "https://s/", "//h/:_authToken": "${T}", "strict-ssl": true,
            "ca": ["a\nb", "c"], "save-prefix": ""
        }),
        "registry=https://r/\n@a:registry=https://s/\n//h/:_authToken=${T}\nstrict-ssl\nca[]=\"a\\nb\"\nca[]=c\nsave-prefix=\"\"\n",
    );
}

#[test]
fn yarnrc_is_read_and_written() {
    check(
        Format::Yarnrc,
        "# c\nregistry \"https://r/\"\n\"@a:registry\" https://s/\nsave-prefix \"~\"\n",
        &json!({"registry": "https://r/", "@a:registry": "https://s/", "save-prefix": "~"}),
        "\"registry\" \"https://r/\"\n\"@a:registry\" \"https://s/\"\n\"save-prefix\" \"~\"\n",
    );
}

#[test]
fn ini_is_read_and_written() {
    check(
        Format::Ini,
        "[global]\nindex_url: https://r/simple\nextra-index-url =\n    https://a/\n    https://b/\n# c\n[install]\nno-index = true\n",
        &json!({
            "global": {"index-url": "https://r/simple", "extra-index-url": "\nhttps://a/\nhttps://b/"},
            "install": {"no-index": "true"}
        }),
        "[global]\nindex-url = https://r/simple\nextra-index-url = \n    https://a/\n    https://b/\n[install]\nno-index = true\n",
    );
    for (text, fault) in [
        ("a = b\n", "its first line is outside a section"),
        ("[a]\nb\n", "a line has no `=`"),
    ] {
        assert_eq!(read(Format::Ini, text), Err(fault.to_owned()));
    }
}

#[test]
fn properties_are_read_and_written() {
    check(
        Format::Properties,
        "# c\n! c\na=1\n  b : https\\://h/\nc = x \\\n    y\n",
        &json!({"a": "1", "b": "https://h/", "c": "x y"}),
        "a=1\nb=https://h/\nc=x y\n",
    );
}

#[test]
fn toml_is_read_and_written() {
    check(
        Format::Toml,
        "a = 1\n[[index]]\nurl = 'https://r/'\nname = 'r'\n[s.x]\ny = ['-C', 'd']\n",
        &json!({"a": 1, "index": [{"url": "https://r/", "name": "r"}], "s": {"x": {"y": ["-C", "d"]}}}),
        "a = 1\n\n[[index]]\nurl = \"https://r/\"\nname = \"r\"\n\n[s.x]\ny = [\n    \"-C\",\n    \"d\",\n]\n",
    );
}

#[test]
fn yaml_is_read_and_written() {
    check(
        Format::Yaml,
        "# c\nchannels:\n  - https://r/\n:sources:\n- a\nBUNDLE_MIRROR__HTTPS://R__ORG/: https://m/\n",
        &json!({"channels": ["https://r/"], ":sources": ["a"], "BUNDLE_MIRROR__HTTPS://R__ORG/": "https://m/"}),
        "channels: [\"https://r/\"]\n:sources: [\"a\"]\nBUNDLE_MIRROR__HTTPS://R__ORG/: \"https://m/\"\n",
    );
    assert_eq!(read(Format::Yaml, "# nothing\n"), Ok(json!({})));
}

#[test]
fn xml_is_read_and_written() {
    let text = "<?xml version=\"1.0\"?>\n<!-- c -->\n<settings xmlns=\"x\"><mirrors><mirror><id>a&amp;b</id>\n\
                <url>https://r/?a&#61;1</url></mirror><mirror><id>c</id></mirror></mirrors><e k=\"v&quot;\"/></settings>";
    check(
        Format::Xml,
        text,
        &json!({"settings": [{
            "@xmlns": "x",
            "mirrors": [{"mirror": [{"id": ["a&b"], "url": ["https://r/?a=1"]}, {"id": ["c"]}]}],
            "e": [{"@k": "v\""}]
        }]}),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<settings xmlns=\"x\">\n  <mirrors>\n    <mirror>\n      <id>a&amp;b</id>\n      \
         <url>https://r/?a=1</url>\n    </mirror>\n    <mirror>\n      <id>c</id>\n    </mirror>\n  </mirrors>\n  <e \
         k=\"v&quot;\"></e>\n</settings>\n",
    );
    for (text, fault) in [
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "it has a document type",
        ),
        ("<a>&b;</a>", "it has entities of its own"),
        ("<a><b></a>", "it is no XML"),
        ("<a>", "it has an open element"),
    ] {
        assert_eq!(read(Format::Xml, text), Err(fault.to_owned()), "{text}");
    }
    let deep = "<a>".repeat(100_000);
    assert_eq!(read(Format::Xml, &deep), Err("it is too deep".to_owned()));
}

#[test]
fn file_of_another_syntax_is_fault() {
    for (format, text) in [
        (Format::Toml, "a"),
        (Format::Json, "["),
        (Format::Json, "[]"),
        (Format::Yaml, "a: [b"),
        (Format::Yarnrc, "\"a"),
    ] {
        assert!(read(format, text).is_err(), "{format:?} {text}");
    }
}

proptest! {
    /// No text makes a reader fail in another way, and what it reads is written as it was read.
    #[test]
    fn any_text_is_read_alike_after_writing(text in "[ -~\n\t\"'\\\\=:#\\[\\]<>/&;{}é-]{0,200}") {
        for format in [Format::Npmrc, Format::Ini, Format::Properties, Format::Toml, Format::Json, Format::Xml] {
            if let Ok(tree) = read(format, &text) {
                let written = write(format, &tree);
                let again = read(format, &written);
                if format != Format::Ini && format != Format::Properties && format != Format::Npmrc {
                    prop_assert_eq!(again, Ok(tree), "{:?} {}", format, written);
                }
            }
        }
    }
}
