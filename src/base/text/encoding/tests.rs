use super::*;
use proptest::prelude::*;

fn decoded(bytes: &[u8]) -> (String, &'static str, bool) {
    let found = detect_and_decode(bytes.to_vec(), None).expect("text");
    assert_eq!(
        encode(&found.text, found.encoding, found.had_bom).as_deref(),
        Ok(bytes)
    );
    (found.text, found.encoding.name(), found.had_bom)
}

#[test]
fn unicode_is_detected_by_bom_or_validity() {
    let text = |s: &str| s.to_owned();
    assert_eq!(decoded(b""), (text(""), "UTF-8", false));
    assert_eq!(decoded("é€😀".as_bytes()), (text("é€😀"), "UTF-8", false));
    assert_eq!(
        decoded(b"\xEF\xBB\xBFa\r\n"),
        (text("a\r\n"), "UTF-8", true)
    );
    assert_eq!(
        decoded(b"\xFF\xFEa\0\x3d\xd8\x00\xde"),
        (text("a😀"), "UTF-16LE", true)
    );
    assert_eq!(decoded(b"\xFE\xFF\0a\0\n"), (text("a\n"), "UTF-16BE", true));
}

#[test]
fn guessed_eight_bit_encoding_round_trips() {
    let french = encoding_rs::WINDOWS_1252
        .encode("Où est l'été ? À côté du château, déjà vu — là-bas.\n")
        .0;
    assert_eq!(decoded(&french).1, "windows-1252");
    let russian = encoding_rs::WINDOWS_1251
        .encode("Съешь же ещё этих мягких французских булок, да выпей чаю\n")
        .0;
    assert_eq!(decoded(&russian).1, "windows-1251");
    let japanese = encoding_rs::SHIFT_JIS
        .encode("これは日本語のテキストです。漢字も含まれています。\n")
        .0;
    assert_eq!(decoded(&japanese).1, "Shift_JIS");
}

#[test]
fn decode_error_reports_offset_and_line() {
    let refusal = |bytes: &[u8]| {
        detect_and_decode(bytes.to_vec(), None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refusal(b"ab\0c"), "the content is binary: byte 2 is NUL");
    assert_eq!(
        refusal(
            "é\né é \u{fffd}"
                .as_bytes()
                .iter()
                .copied()
                .chain([0xE9])
                .collect::<Vec<_>>()
                .as_slice()
        ),
        "the content is not text in a known encoding: byte 12 (line 2) is not valid UTF-8"
    );
    assert_eq!(
        refusal(b"\xFF\xFEa\0\n\0\x00\xd8b\0"),
        "the content is not text in a known encoding: byte 6 (line 2) is not valid UTF-16LE"
    );
    assert_eq!(
        refusal(b"\xFF\xFEa\0b"),
        "the content is not text in a known encoding: byte 4 (line 1) is not valid UTF-16LE"
    );
    assert_eq!(
        refusal(b"\xFF\xFE\0\0a\0\0\0"),
        "the content is binary: byte 2 is NUL"
    );
}

#[test]
fn nul_near_start_without_bom_is_binary() {
    let mut late = vec![b'a'; limits::BINARY_SNIFF_BYTES];
    late.push(0);
    assert_eq!(
        [
            is_binary(b"a\0"),
            is_binary(b"\xFF\xFEa\0"),
            is_binary(&late),
            is_binary(b"")
        ],
        [true, false, false, false]
    );
}

#[test]
fn encoding_labels_follow_whatwg_standard() {
    assert_eq!(by_name("latin1").map(Encoding::name), Ok("windows-1252"));
    assert_eq!(by_name(" UTF8 ").map(Encoding::name), Ok("UTF-8"));
    let unknown = by_name("utf-9").unwrap_err();
    assert!(
        unknown
            .to_string()
            .starts_with("unknown encoding `utf-9`: known ones are utf-8, utf-16le")
    );
    assert!(by_name("iso-2022-kr").is_err());
    let forced = detect_and_decode(b"\xE9".to_vec(), Some("latin1")).expect("forced");
    assert_eq!(
        (forced.text.as_str(), forced.encoding.name()),
        ("é", "windows-1252")
    );
    assert_eq!(
        detect_and_decode(b"\xE9".to_vec(), Some("utf-8"))
            .unwrap_err()
            .to_string(),
        "the content is not text in a known encoding: byte 0 (line 1) is not valid UTF-8"
    );
}

#[test]
fn unmappable_character_is_reported_with_line() {
    let encoding = by_name("windows-1252").expect("known");
    assert_eq!(
        encode("a\nb\nc→", encoding, false).unwrap_err().to_string(),
        "the character '→' (U+2192) on line 3 does not exist in windows-1252"
    );
}

proptest! {
    #[test]
    fn decoded_bytes_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(found) = detect_and_decode(bytes.clone(), None) {
            prop_assert_eq!(encode(&found.text, found.encoding, found.had_bom), Ok(bytes));
        }
    }
}
