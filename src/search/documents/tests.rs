use super::picture::Form;
use super::*;
use pretty_assertions::assert_eq;

const PNG: &[u8] = include_bytes!("../../../testdata/documents/picture.png");
const JPEG: &[u8] = include_bytes!("../../../testdata/documents/picture.jpg");
const GIF: &[u8] = include_bytes!("../../../testdata/documents/animated.gif");
const WEBP: &[u8] = include_bytes!("../../../testdata/documents/picture.webp");

#[test]
fn picture_size_is_read_from_head() {
    let size = |width, height| Some(Size { width, height });
    assert_eq!(
        [PNG, JPEG, GIF, WEBP].map(picture_size),
        [size(20, 10), size(8, 4), size(8, 4), size(8, 4)]
    );
    let lossy = [
        &b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a"[..],
        &[0x20, 0x43, 0x10, 0],
    ]
    .concat();
    let extended = [
        &b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0"[..],
        &[0x1f, 0x03, 0, 0x0f, 0, 1],
    ]
    .concat();
    assert_eq!(
        [&lossy[..], &extended].map(picture_size),
        [size(800, 16), size(800, 65_552)]
    );
    // Files that readers interpret differently, or with several sizes.
    let frame = |side: u8| [0xff, 0xc0, 0, 11, 8, side, 0, side, 0, 1, 1, 0x11, 0];
    let jpeg = |parts: &[&[u8]]| {
        picture_size(
            &[&[&b"\xff\xd8"[..]], parts, &[b"\xff\xda"]]
                .concat()
                .concat(),
        )
    };
    assert_eq!(jpeg(&[&frame(1)]), size(256, 256));
    assert_eq!(
        [jpeg(&[&frame(1), &frame(9)]), jpeg(&[&frame(9), &frame(1)])],
        [size(2304, 2304); 2]
    );
    assert_eq!([jpeg(&[b"\xff\x01", &frame(9)]), jpeg(&[])], [None; 2]);
    let gif = b"GIF89a\x05\0\x05\0\0\0\0,\x01\0\0\0\0\x08\0\x09\0\x02\x01\0\0;";
    assert_eq!(
        [picture_size(gif), picture_size(&gif[..gif.len() - 1])],
        [size(2049, 2304), None]
    );
    for picture in [PNG, JPEG, GIF, WEBP, &lossy, &extended] {
        for end in 0..30.min(picture.len()) {
            let _ = picture_size(&picture[..end]);
        }
    }
}

#[test]
fn kind_follows_from_content() {
    let zip = [&b"PK\x03\x04"[..], &[0; 100], b"[Content_Types].xml"].concat();
    assert_eq!(kind(b"a.txt", PNG, b""), Some(DocumentKind::Picture));
    assert_eq!(kind(b"a.txt", b"%PDF-1.7", b""), Some(DocumentKind::Pdf));
    assert_eq!(
        [
            kind(b"a.txt", b"\n%PDF-1.7", b""),
            kind(b"a.PDF", b"\n%PDF-1.7", b"")
        ],
        [None, Some(DocumentKind::Pdf)]
    );
    assert_eq!(kind(b"a.txt", &zip, b""), Some(DocumentKind::Office));
    assert_eq!(
        kind(b"a.docx", &zip[..100], &zip[100..]),
        Some(DocumentKind::Office)
    );
    assert_eq!(kind(b"a.docx", &zip[..100], b""), None);
    assert_eq!(
        [kind(b"a.ipynb", b" {}", b""), kind(b"a.json", b"{}", b"")],
        [Some(DocumentKind::Notebook), None]
    );
    assert_eq!(
        [kind(b"a.ipynb", b"", b""), kind(b"", b"", b"")],
        [None, None]
    );
}

#[test]
fn pages_are_counted_from_one() {
    let pages = |text: &str| {
        text.parse::<Pages>()
            .ok()
            .map(|pages| parts::Parts::chosen(Some(pages), "page", 5))
    };
    for (text, expected) in [
        ("1", 1..=1),
        ("2-4", 2..=4),
        ("5-", 5..=5),
        (" 3 - 9 ", 3..=5),
    ] {
        assert_eq!(pages(text).unwrap().unwrap(), expected, "{text}");
    }
    assert!(pages("6").unwrap().is_err());
    for text in [
        "",
        "0",
        "-",
        "-3",
        "3-2",
        "x",
        "1,2",
        "99999999999999999999999",
    ] {
        assert!(pages(text).is_none(), "{text}");
    }
}

#[test]
fn document_text_has_no_control_characters() {
    let mut parts = parts::Parts::default();
    parts.begin("sheet 1: a\n--- b").unwrap();
    parts.line("a\u{1b}]0;t\u{7}\u{202e}\tb\n").unwrap();
    assert_eq!(
        parts.into_text(),
        "--- $'sheet 1: a\\n--- b' ---\na]0;t\tb\n\n"
    );
    let notebook =
        br#"{"nbformat": 4, "cells": [{"cell_type": "x\ny", "outputs": [{"data": {"image/png\nz": "AA=="}}]}]}"#;
    let expected =
        "--- $'cell 1 of 1: x\\ny' ---\n--- output of cell 1 ---\n[$'image/png\\nz', 1 bytes]\n";
    assert_eq!(notebook::text(notebook, None).unwrap(), expected);
}

#[test]
fn dishonest_answer_is_rejected() {
    let size = Size {
        width: 20,
        height: 10,
    };
    let shown = ConvertedPicture {
        form: Form::Png,
        size,
        region: [0, 0, 20, 10],
        original: size,
        is_animated: false,
    };
    let said = |answer: &ReaderAnswer, payload: &[u8]| {
        [&serde_json::to_vec(answer).unwrap()[..], b"\n", payload].concat()
    };
    let honest = said(&ReaderAnswer::Picture(shown), PNG);
    assert_eq!(
        read_answer(&honest),
        Some((ReaderAnswer::Picture(shown), PNG))
    );
    let wide = Size {
        width: 2000,
        height: 10,
    };
    let lies = [
        said(
            &ReaderAnswer::Picture(ConvertedPicture {
                form: Form::Jpeg,
                ..shown
            }),
            PNG,
        ),
        said(
            &ReaderAnswer::Picture(ConvertedPicture {
                size: wide,
                ..shown
            }),
            PNG,
        ),
        said(&ReaderAnswer::Picture(shown), b"<script>"),
        said(&ReaderAnswer::Text, b"\xff"),
        said(&ReaderAnswer::AsItIs, b"more"),
        said(&ReaderAnswer::Fault("a\nb".to_owned()), b""),
        said(&ReaderAnswer::Fault("a".repeat(MAX_FAULT_BYTES + 1)), b""),
        b"\"Text\"".to_vec(),
        b"{}\n".to_vec(),
        Vec::new(),
    ];
    for lie in lies {
        assert_eq!(read_answer(&lie), None, "{}", String::from_utf8_lossy(&lie));
    }
}
