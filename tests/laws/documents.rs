//! Pictures and documents are read whatever they are: an agent, or whoever sent it a file, has made
//! them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use replay::internals::documents::{Answer, Kind, Part, Question, answer, kind, read_answer};

/// As much as the samples need, and what is made of them must stay within.
const MEMORY_BYTES: u64 = 64 * 1024 * 1024;

/// The bytes are a file, which is what it holds; a notebook if it could be one.
pub fn a_document_has_an_answer(bytes: &[u8]) {
    let Some(kind) = kind(b"a.ipynb", bytes, bytes) else {
        return;
    };
    // A region has it decoded, however small it is.
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
    // Of what reads these the process that it runs in may end (`exec::read_apart`).
    if said.is_err() && matches!(kind, Kind::Pdf | Kind::Picture) {
        return;
    }
    let said = said.unwrap();
    let (answer, payload) = read_answer(&said).expect("an honest answer");
    match answer {
        Answer::Picture(shown) => {
            assert!(kind == Kind::Picture && !payload.is_empty(), "{shown:?}")
        }
        Answer::Text => assert!(kind != Kind::Picture),
        Answer::AsItIs => panic!("a part was asked for"),
        Answer::Fault(reason) => assert!(!reason.is_empty()),
    }
}
