//! Properties of pictures and documents: any bytes are read or refused, since an agent or a
//! stranger may have made the file.

use std::panic::{AssertUnwindSafe, catch_unwind};

use replay_search::documents::{
    DocumentKind, Part, Question, ReaderAnswer, answer, kind, read_answer,
};

/// Memory limit for reading a document, large enough for the samples.
const MEMORY_BYTES: u64 = 64 * 1024 * 1024;

/// Reads any bytes as a file of the detected kind, or as a notebook.
pub fn a_document_has_an_answer(bytes: &[u8]) {
    let Some(kind) = kind(b"a.ipynb", bytes, bytes) else {
        return;
    };
    // Asking for a region forces decoding, however small the picture is.
    let part = Part {
        region: Some([0, 0, u32::MAX, u32::MAX]),
        pages: None,
    };
    let question = serde_json::to_string(&Question {
        kind,
        part,
        memory_bytes: MEMORY_BYTES,
    })
    .unwrap();
    let said = catch_unwind(AssertUnwindSafe(|| answer(&question, bytes)));
    // Readers of these kinds may end their process (`exec::read_apart`).
    if said.is_err() && matches!(kind, DocumentKind::Pdf | DocumentKind::Picture) {
        return;
    }
    let said = said.unwrap();
    let (answer, payload) = read_answer(&said).expect("an honest answer");
    match answer {
        ReaderAnswer::Picture(shown) => {
            assert!(
                kind == DocumentKind::Picture && !payload.is_empty(),
                "{shown:?}"
            );
        }
        ReaderAnswer::Text => assert!(kind != DocumentKind::Picture),
        ReaderAnswer::AsItIs => panic!("a part was asked for"),
        ReaderAnswer::Fault(reason) => assert!(!reason.is_empty()),
    }
}
