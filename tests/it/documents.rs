//! Pictures and documents through the server, and the sandboxed reader process.

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, GenericImageView as _, ImageFormat, Rgb, RgbImage, RgbaImage};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::harness::{DEADLINE, Reply, Server, ends_within};
use crate::tree::Tree;

/// One file of each kind that the reader process parses.
pub const SAMPLES: [(&str, &[u8]); 9] = [
    (
        "word.docx",
        include_bytes!("../../testdata/documents/word.docx"),
    ),
    (
        "sheets.xlsx",
        include_bytes!("../../testdata/documents/sheets.xlsx"),
    ),
    (
        "slides.pptx",
        include_bytes!("../../testdata/documents/slides.pptx"),
    ),
    (
        "pages.pdf",
        include_bytes!("../../testdata/documents/pages.pdf"),
    ),
    (
        "cells.ipynb",
        include_bytes!("../../testdata/documents/cells.ipynb"),
    ),
    (
        "picture.png",
        include_bytes!("../../testdata/documents/picture.png"),
    ),
    (
        "picture.jpg",
        include_bytes!("../../testdata/documents/picture.jpg"),
    ),
    (
        "animated.gif",
        include_bytes!("../../testdata/documents/animated.gif"),
    ),
    (
        "picture.webp",
        include_bytes!("../../testdata/documents/picture.webp"),
    ),
];

const WORD: &str = "# Title & more\nOne\ttwo\n- item\n| a | b c |\n--- footnotes ---\nA note.\n";
const SHEETS: &str = "--- sheet 1 of 2: Prices ---\nrow\tA\tC\tXFD\n1\tName\tWhen\n7\tApple\t2023-03-15\t0.1\n\
    --- sheet 2 of 2: Old (hidden) ---\n[no sheet of cells]\n";
const SLIDES: &str = "--- slide 1 of 1 ---\nHello\n--- notes of slide 1 ---\nSay it.\n";
const PAGES: &str = "--- page 1 of 2 ---\nFirst page\nline two\n--- page 2 of 2 ---\nSecond\n";
const CELLS: &str = "[cells and outputs; `encoding: \"utf-8\"` shows the JSON, whose line numbers \
    grep_files and edit_file use]\n--- cell 1 of 2: markdown ---\n# T\nx\n--- cell 2 of 2: code, \
    run as [3] ---\n1+1\n--- output of cell 2 ---\nred\n--- output of cell 2 ---\n2\n--- output \
    of cell 2 ---\n[image/png, 20 x 10 pixels, 393 bytes]\n";

fn serve(tree: &Tree) -> Server {
    Server::open(
        tree,
        "2025-11-25",
        &[
            "--allow",
            &format!("{}:rw", tree.root().display()),
            "--tools",
            "files",
        ],
    )
}

/// Creates a tree with the samples, and a server without commands for it.
fn samples() -> (Tree, Server) {
    let tree = Tree::new();
    for (name, bytes) in SAMPLES {
        tree.file(name, bytes);
    }
    let server = serve(&tree);
    (tree, server)
}

fn read(server: &mut Server, tree: &Tree, name: &str, mut arguments: Value) -> Reply {
    arguments["path"] = tree.text(name).into();
    server.call("read_file", arguments)
}

/// Returns the error message, with `/` in place of the tree.
fn error(server: &mut Server, tree: &Tree, name: &str, arguments: Value) -> String {
    let reply = read(server, tree, name, arguments);
    let failure = reply
        .failure()
        .unwrap_or_else(|| panic!("{name}: {}", reply.0));
    failure
        .message
        .replace(&tree.root().display().to_string(), "")
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Creates a picture with a red, a green, a blue and a white quarter.
fn quarters(width: u32, height: u32) -> DynamicImage {
    let colour = |x: u32, y: u32| match (x < width / 2, y < height / 2) {
        (true, true) => [255, 0, 0],
        (false, true) => [0, 255, 0],
        (true, false) => [0, 0, 255],
        (false, false) => [255; 3],
    };
    RgbImage::from_fn(width, height, |x, y| Rgb(colour(x, y))).into()
}

/// Returns the media type, the picture and the note of a reply.
fn picture(reply: &Reply) -> (String, DynamicImage, String) {
    let content = &reply.result()["content"];
    assert_eq!(content.as_array().unwrap().len(), 2, "{content}");
    let bytes = STANDARD
        .decode(content[0]["data"].as_str().unwrap())
        .unwrap();
    let media_type = content[0]["mimeType"].as_str().unwrap().to_owned();
    (
        media_type,
        image::load_from_memory(&bytes).unwrap(),
        content[1]["text"].as_str().unwrap().to_owned(),
    )
}

/// Returns the colours of the four quarters, each as red, green and blue in units of half of 255.
fn colours(image: &DynamicImage) -> [[u8; 3]; 4] {
    let (width, height) = image.dimensions();
    [(1, 1), (3, 1), (1, 3), (3, 3)].map(|(x, y)| {
        let [rgb @ .., _] = image.get_pixel(width * x / 4, height * y / 4).0;
        rgb.map(|colour| colour / 128)
    })
}

const QUARTERS: [[u8; 3]; 4] = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]];

#[test]
fn document_is_read_as_text() {
    let (tree, mut server) = samples();
    for (name, text) in [
        ("word.docx", WORD),
        ("sheets.xlsx", SHEETS),
        ("slides.pptx", SLIDES),
        ("pages.pdf", PAGES),
        ("cells.ipynb", CELLS),
    ] {
        assert_eq!(
            read(&mut server, &tree, name, json!({})).texts(),
            [text],
            "{name}"
        );
    }
    // The type is detected by content, not by name.
    tree.file("any", SAMPLES[0].1);
    assert_eq!(read(&mut server, &tree, "any", json!({})).texts(), [WORD]);
    let cells = String::from_utf8(SAMPLES[4].1.to_vec()).unwrap();
    assert_eq!(
        read(
            &mut server,
            &tree,
            "cells.ipynb",
            json!({"encoding": "utf-8"})
        )
        .texts(),
        [cells]
    );
}

#[test]
fn document_part_is_read_by_range() {
    let (tree, mut server) = samples();
    let mut texts = |name, arguments| read(&mut server, &tree, name, arguments).texts();
    assert_eq!(
        texts("pages.pdf", json!({"pages": "2"})),
        ["--- page 2 of 2 ---\nSecond\n"]
    );
    assert_eq!(texts("pages.pdf", json!({"pages": "1-"})), [PAGES]);
    assert_eq!(
        texts("sheets.xlsx", json!({"pages": "2-9"})),
        ["--- sheet 2 of 2: Old (hidden) ---\n[no sheet of cells]\n"]
    );
    assert_eq!(texts("slides.pptx", json!({"pages": "1"})), [SLIDES]);
    assert_eq!(
        texts("word.docx", json!({"offset": 2, "limit": 1})),
        ["One\ttwo\n", "[lines 2-2 of 6; next offset 3]"]
    );
    assert_eq!(
        texts("word.docx", json!({"maxTokens": 6})),
        ["# Title & more\n", "[lines 1-1 of 6; next offset 2]"]
    );
    let mut error = |name, arguments| error(&mut server, &tree, name, arguments);
    assert_eq!(
        [
            error("pages.pdf", json!({"pages": "3"})),
            error("word.docx", json!({"pages": "1"})),
            error("pages.pdf", json!({"pages": "0"})),
            error("pages.pdf", json!({"pages": "2-1"})),
        ],
        [
            "`/pages.pdf` has 2 pages, and `pages` begins with 3\nhint: ask for a part that \
             exists, or use a command that reads this format",
            "`/word.docx` is a Word document, which has no fixed pages; use `offset` and \
             `limit`\nhint: ask for a part that exists, or use a command that reads this format",
            "`pages` of read_file is \"0\"; it must be one number from 1 or a range, such as 3, 3-7 or 3-",
            "`pages` of read_file is \"2-1\"; it must be one number from 1 or a range, such as 3, 3-7 or 3-",
        ]
    );
}

#[test]
fn content_unlike_extension_is_an_error() {
    let tree = Tree::new();
    let zip = package(&[("a.txt", b"a")]);
    tree.file("a.docx", "text\n")
        .file("a.pdf", "<html>")
        .file("a.ipynb", "")
        .file("b.ipynb", "{}")
        .file("a.xlsx", &zip);
    let mut server = serve(&tree);
    let mut error = |name| error(&mut server, &tree, name, json!({}));
    let as_text = "\nhint: `encoding`, such as utf-8, reads it as text";
    let by_command = "\nhint: use a command that knows its format";
    assert_eq!(
        error("a.docx"),
        format!(
            "`/a.docx` has the name of a Word document, but its content is text (5 \
            bytes){as_text}"
        )
    );
    assert_eq!(
        error("a.pdf"),
        format!("`/a.pdf` has the name of a PDF, but its content is text (6 bytes){as_text}")
    );
    assert_eq!(
        error("a.ipynb"),
        "`/a.ipynb` has the name of a notebook, but its content is an empty file (0 bytes)\nhint: \
         write it first"
    );
    assert_eq!(
        error("b.ipynb"),
        "`/b.ipynb` is not a notebook of nbformat 4: `nbformat` is null; give `encoding` to read \
         it as text\nhint: ask for a part that exists, or use a command that reads this format"
    );
    let size = zip.len();
    assert_eq!(
        error("a.xlsx"),
        format!(
            "`/a.xlsx` has the name of an Excel workbook, but its content is application/zip \
             ({size} bytes){by_command}"
        )
    );
    assert_eq!(
        read(&mut server, &tree, "a.docx", json!({"encoding": "utf-8"})).texts(),
        ["text\n"]
    );
}

#[test]
fn small_picture_is_returned_unchanged() {
    let (tree, mut server) = samples();
    tree.file("wide.png", encoded(&quarters(1568, 4), ImageFormat::Png));
    for name in [
        "picture.png",
        "picture.jpg",
        "animated.gif",
        "picture.webp",
        "wide.png",
    ] {
        let reply = read(&mut server, &tree, name, json!({}));
        let content = reply.result()["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{name}");
        assert_eq!(
            STANDARD
                .decode(content[0]["data"].as_str().unwrap())
                .unwrap(),
            fs::read(tree.path(name)).unwrap()
        );
    }
}

#[test]
fn large_picture_is_scaled_unless_region() {
    let tree = Tree::new();
    let (large, tall) = (quarters(2000, 1000), quarters(2, 3136));
    tree.file("a.png", encoded(&large, ImageFormat::Png))
        .file("a.jpg", encoded(&large, ImageFormat::Jpeg));
    tree.file("a.webp", encoded(&large, ImageFormat::WebP))
        .file("a.gif", encoded(&large, ImageFormat::Gif));
    tree.file("tall.png", encoded(&tall, ImageFormat::Png));
    let mut server = serve(&tree);
    for (name, expected) in [
        ("a.png", "image/png"),
        ("a.jpg", "image/jpeg"),
        ("a.webp", "image/png"),
        ("a.gif", "image/png"),
    ] {
        let (media_type, image, note) = picture(&read(&mut server, &tree, name, json!({})));
        assert_eq!(
            (media_type.as_str(), image.dimensions()),
            (expected, (1568, 784)),
            "{name}"
        );
        assert_eq!(colours(&image), QUARTERS, "{name}");
        assert_eq!(
            note,
            "[2000 x 1000 pixels, scaled to 1568 x 784; `region` gives a part at full size]"
        );
    }
    let (_, image, note) = picture(&read(&mut server, &tree, "tall.png", json!({})));
    assert_eq!(
        (image.dimensions(), note.as_str()),
        (
            (1, 1568),
            "[2 x 3136 pixels, scaled to 1 x 1568; `region` gives a part at full size]"
        )
    );

    let region = json!({"region": [900, 400, 200, 200]});
    let (_, image, note) = picture(&read(&mut server, &tree, "a.png", region));
    assert_eq!(
        (image.dimensions(), colours(&image)),
        ((200, 200), QUARTERS)
    );
    assert_eq!(
        image.to_rgb8(),
        large.crop_imm(900, 400, 200, 200).to_rgb8()
    );
    assert_eq!(note, "[region [900, 400, 200, 200] of 2000 x 1000 pixels]");
    let (_, image, note) = picture(&read(
        &mut server,
        &tree,
        "a.png",
        json!({"region": [0, 0, 1960, 2000]}),
    ));
    assert_eq!(image.dimensions(), (1568, 800));
    assert_eq!(
        note,
        "[region [0, 0, 1960, 1000] of 2000 x 1000 pixels, scaled to 1568 x 800; `region` gives a part at full size]"
    );
    assert_eq!(
        error(
            &mut server,
            &tree,
            "a.png",
            json!({"region": [2000, 0, 1, 1]})
        ),
        "`/a.png` is 2000 x 1000 pixels, and `region` [2000, 0, 1, 1] is outside of that\nhint: \
         ask for a part that exists, or use a command that reads this format"
    );
    assert_eq!(
        error(&mut server, &tree, "a.png", json!({"pages": "1"})),
        "`pages` of read_file does not apply: `/a.png` is a picture"
    );
    assert_eq!(
        error(&mut server, &tree, "a.png", json!({"limit": 1})),
        "`/a.png` is binary, so it has no lines\nhint: read it without offset and limit, or use a command that knows its format"
    );
    tree.file("a.txt", "text");
    assert_eq!(
        error(&mut server, &tree, "a.txt", json!({"region": [0, 0, 1, 1]})),
        "`region` and `pages` of read_file apply to pictures and documents, and `/a.txt` is \
         neither; leave them out"
    );
}

#[test]
fn photo_is_rotated_by_exif_orientation() {
    let tree = Tree::new();
    let jpeg = encoded(&quarters(2000, 1000), ImageFormat::Jpeg);
    // TIFF 6.0: one entry, the orientation (0x112), a SHORT: rotate 90 degrees clockwise.
    let exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let length = (exif.len() as u16 + 2).to_be_bytes();
    tree.file(
        "a.jpg",
        [&jpeg[..2], b"\xff\xe1", &length, exif, &jpeg[2..]].concat(),
    );
    let (_, image, note) = picture(&read(&mut serve(&tree), &tree, "a.jpg", json!({})));
    assert_eq!(image.dimensions(), (784, 1568));
    assert_eq!(
        colours(&image),
        [[0, 0, 1], [1, 0, 0], [1, 1, 1], [0, 1, 0]]
    );
    assert_eq!(
        note,
        "[1000 x 2000 pixels, scaled to 784 x 1568; `region` gives a part at full size]"
    );
}

#[test]
fn animation_returns_first_frame() {
    let tree = Tree::new();
    let mut gif = Vec::new();
    let frames = [quarters(1600, 8).to_rgba8(), RgbaImage::new(1600, 8)].map(Frame::new);
    GifEncoder::new(&mut gif).encode_frames(frames).unwrap();
    tree.file("a.gif", gif);
    let (_, image, note) = picture(&read(&mut serve(&tree), &tree, "a.gif", json!({})));
    assert_eq!((image.dimensions(), colours(&image)), ((1568, 8), QUARTERS));
    let expected = "[1600 x 8 pixels, scaled to 1568 x 8; `region` gives a part at full size; the first picture of an animation]";
    assert_eq!(note, expected);
}

#[test]
fn oversized_picture_is_recompressed() {
    let tree = Tree::new();
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let image = RgbImage::from_fn(1568, 1000, |_, _| Rgb([noise(), noise(), noise()]));
    tree.file("noise.png", encoded(&image.into(), ImageFormat::Png));
    let (media_type, image, note) =
        picture(&read(&mut serve(&tree), &tree, "noise.png", json!({})));
    assert_eq!(
        (media_type.as_str(), image.dimensions(), note.as_str()),
        ("image/jpeg", (1568, 1000), "[1568 x 1000 pixels]")
    );
}

#[test]
fn large_binary_file_is_refused() {
    let tree = Tree::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(65_537).collect();
    tree.file("a.bin", &bytes[..65_536])
        .file("b.bin", &bytes)
        .file("c.wav", [b"RIFF\0\0\0\0WAVE", &bytes[..]].concat());
    let huge = fs::File::create(tree.path("d.bin")).unwrap();
    huge.set_len(11 * 1024 * 1024).unwrap();
    let mut server = serve(&tree);
    let reply = read(&mut server, &tree, "a.bin", json!({}));
    let blob = reply.result()["content"][0]["resource"]["blob"]
        .as_str()
        .unwrap();
    assert_eq!(STANDARD.decode(blob).unwrap(), bytes[..65_536]);
    let mut error = |name, arguments| error(&mut server, &tree, name, arguments);
    let refused = |name: &str, media_type: &str, size: u64, hash: &str| {
        format!(
            "`/{name}` is {media_type}, {size} bytes, SHA-256 {hash}; binary files over 65536 bytes are not sent\n\
             hint: use a command that knows its format"
        )
    };
    let octets = "application/octet-stream";
    let hash = |bytes: &[u8]| {
        Sha256::digest(bytes)
            .iter()
            .fold(String::new(), |mut digits, byte| {
                write!(digits, "{byte:02x}").unwrap();
                digits
            })
    };
    assert_eq!(
        error("b.bin", json!({})),
        refused("b.bin", octets, 65_537, &hash(&bytes))
    );
    let wav = fs::read(tree.path("c.wav")).unwrap();
    assert_eq!(
        error("c.wav", json!({})),
        refused("c.wav", "audio/wav", wav.len() as u64, &hash(&wav))
    );
    let zeroes = vec![0; 11 * 1024 * 1024];
    assert_eq!(
        error("d.bin", json!({})),
        refused("d.bin", octets, 11 * 1024 * 1024, &hash(&zeroes))
    );
    let no_lines = "hint: read it without offset and limit, or use a command that knows its format";
    for name in ["b.bin", "d.bin"] {
        assert_eq!(
            error(name, json!({"limit": 1})),
            format!("`/{name}` is binary, so it has no lines\n{no_lines}")
        );
    }
}

#[test]
fn reader_survives_corrupted_documents() {
    let (tree, mut server) = samples();
    let mut state = 7_usize;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for (name, bytes) in SAMPLES {
        for round in 0..12 {
            let mut spoilt = bytes.to_vec();
            match round % 3 {
                0 => spoilt.truncate(random(bytes.len())),
                1 => (0..3).for_each(|_| spoilt[random(bytes.len())] ^= 1 << random(8)),
                _ => spoilt.extend_from_within(random(bytes.len())..),
            }
            tree.file(name, &spoilt);
            let part = if name.contains('.') && round % 2 == 0 {
                json!({"pages": "1-"})
            } else {
                json!({"region": [0, 0, 9, 9]})
            };
            let reply = read(&mut server, &tree, name, part);
            assert!(
                reply.failure().is_some() || reply.result()["content"].is_array(),
                "{name}, {round}"
            );
        }
    }
    assert!(server.alive());
}

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in parts {
        writer.start_file(*name, stored).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Creates a Word document with this main part.
fn word(document: &[u8]) -> Vec<u8> {
    let relations =
        "<R><Relationship Id=\"r\" Type=\"x/officeDocument\" Target=\"word/document.xml\"/></R>";
    package(&[
        ("[Content_Types].xml", b"<T/>"),
        ("_rels/.rels", relations.as_bytes()),
        ("word/document.xml", document),
    ])
}

#[test]
fn decompression_bombs_are_bounded() {
    let tree = Tree::new();
    // 60,000 x 60,000 pixels in the header, without any pixel data.
    let mut bomb = encoded(&quarters(2, 2), ImageFormat::Png);
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let sum = flate2_crc(&bomb[12..29]).to_be_bytes();
    bomb[29..33].copy_from_slice(&sum);
    let entities = "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><document><p><t>x&b;&lt;</t></p></document>";
    let nested = "<p>".repeat(1_000_000);
    let text = [
        b"<document><p><t>",
        &b"a".repeat(20 * 1024 * 1024)[..],
        b"</t></p></document>",
    ]
    .concat();
    tree.file("a.png", bomb)
        .file("entities.docx", word(entities.as_bytes()))
        .file("text.docx", word(&text));
    tree.file(
        "nested.docx",
        word(format!("<document>{nested}").as_bytes()),
    );
    tree.file("deep.ipynb", "{\"a\":".to_owned() + &"[".repeat(1_000_000));
    let looped =
        String::from_utf8_lossy(SAMPLES[3].1).replace("/Kids[4 0 R 6 0 R]", "/Kids[2 0 R 2 0 R]");
    tree.file("looped.pdf", looped);
    let mut server = serve(&tree);
    let mut error = |name| error(&mut server, &tree, name, json!({}));
    let spoken = [
        "a.png",
        "text.docx",
        "nested.docx",
        "deep.ipynb",
        "looped.pdf",
    ]
    .map(&mut error);
    let hint = "\nhint: ask for a part that exists, or use a command that reads this format";
    let memory = spoken[0]
        .split_whitespace()
        .find_map(|word| word.parse::<u64>().ok())
        .unwrap_or_default();
    assert_eq!(
        spoken,
        [
            format!("`/a.png` needs more than {memory} bytes of memory to be decoded{hint}"),
            format!(
                "`/text.docx` has more than 10485760 bytes of text; read some of its `pages`, or \
                 convert it with a command{hint}"
            ),
            format!(
                "`/nested.docx` is damaged: word/document.xml: it ends before its elements do{hint}"
            ),
            format!(
                "`/deep.ipynb` is damaged: its JSON: recursion limit exceeded at line 1 column 132{hint}"
            ),
            format!("`/looped.pdf` is damaged: no page of the PDF can be found{hint}"),
        ]
    );
    assert_eq!(
        read(&mut server, &tree, "entities.docx", json!({})).texts(),
        ["x<\n"]
    );
}

/// Computes the CRC-32 of a PNG chunk (ISO 3309).
fn flate2_crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Creates a document that exceeds the time limit: a highly compressed stream of empty elements.
fn endless() -> Vec<u8> {
    let mut packer = flate2::Compress::new(flate2::Compression::best(), false);
    let mut packed = |bytes: &[u8]| {
        let mut packed = Vec::with_capacity(64 * 1024);
        packer
            .compress_vec(bytes, &mut packed, flate2::FlushCompress::Full)
            .unwrap();
        packed
    };
    // Fully flushed blocks can be repeated.
    let (begun, elements) = (packed(b"<document>"), packed(&b"<a/>".repeat(1024 * 1024)));
    let mut package = word(&[begun, elements.repeat(120)].concat());
    for (sign, method, size) in [(b"PK\x03\x04", 8, 22), (b"PK\x01\x02", 10, 24)] {
        let found = memchr::memmem::rfind(&package, sign).unwrap();
        assert_eq!(package[found + method..][..2], [0, 0]);
        package[found + method] = 8;
        package[found + size..][..4].copy_from_slice(&0xf000_0000_u32.to_le_bytes());
    }
    package
}

/// Returns the reader process, the only child of a server, once its sandbox is active.
fn reader_of(server: &Server) -> (Pid, String) {
    let pid = server.pid().as_raw_nonzero();
    let until = Instant::now() + DEADLINE;
    loop {
        let children =
            fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let of_task = |task: fs::DirEntry| {
            fs::read_to_string(task.path().join("children")).unwrap_or_default()
        };
        let all = tasks
            .flatten()
            .map(of_task)
            .fold(children, |all, own| all + " " + &own);
        for child in all.split_whitespace() {
            let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            if status.contains("Seccomp:\t2") {
                return (Pid::from_raw(child.parse().unwrap()).unwrap(), status);
            }
        }
        assert!(Instant::now() < until, "no reader");
        std::thread::yield_now();
    }
}

#[test]
fn reader_is_confined_and_ends_with_call() {
    let tree = Tree::new();
    tree.file("a.docx", endless());
    let mut server = serve(&tree);
    let ask = |server: &mut Server, id: i64| {
        let params = json!({"name": "read_file", "arguments": {"path": tree.text("a.docx")}});
        server.send_as(&json!(id), "tools/call", params);
    };
    ask(&mut server, 1001);
    let (reader, status) = reader_of(&server);
    let field = |name: &str| {
        let line = status
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")))
            .unwrap();
        line.split_once('\t').unwrap().1.to_owned()
    };
    assert_eq!(
        ["NoNewPrivs", "Seccomp", "CapEff", "CapPrm", "Threads"].map(field),
        ["1", "2", "0000000000000000", "0000000000000000", "1"]
    );
    server.notify("notifications/cancelled", json!({"requestId": 1001}));
    assert!(
        ends_within(reader, Duration::from_secs(20)),
        "a cancelled call leaves its reader"
    );

    ask(&mut server, 1002);
    let (reader, _) = reader_of(&server);
    kill_process(server.pid(), Signal::KILL).unwrap();
    assert!(
        ends_within(reader, Duration::from_secs(20)),
        "a server that is gone leaves a reader"
    );
}

#[test]
fn reader_without_sandbox_refuses_to_read() {
    let tree = Tree::new();
    tree.file("a.docx", SAMPLES[0].1);
    let mut reader = Command::new(env!("CARGO_BIN_EXE_replay"));
    // Started by an unexpected parent: the sandbox would not end with it.
    reader.args(["__reader", "1", "100000000", "1000000", "{}"]);
    let said = reader
        .stdin(fs::File::open(tree.path("a.docx")).unwrap())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(said.stdout).unwrap(),
        "!look for the server: it is gone"
    );
}

#[test]
fn slow_reader_is_killed_at_time_limit() {
    let tree = Tree::new();
    tree.file("a.docx", endless());
    let message = error(&mut serve(&tree), &tree, "a.docx", json!({}));
    assert_eq!(
        message,
        "`/a.docx` cannot be read: reading takes more than 20 s of CPU time, or 50 s in \
         all\nhint: the file may be damaged; ask for less of it with `pages` or `region`, or use \
         a command that reads this format"
    );
}
