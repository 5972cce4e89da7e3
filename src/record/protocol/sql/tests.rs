use pretty_assertions::assert_eq;

use super::*;

#[test]
fn statement_splits_into_words_values_and_marks() {
    let word = |text: &str| Token::Word(text.to_owned());
    let value = |text: &str| Token::Value(Some(text.as_bytes().to_vec()));
    let text =
        b"SET app.tenant = 't1'; -- it's\nSelect \"A b\", $2 /* x; */ from s1.t where n = $$q$$";
    let expected = vec![
        vec![
            word("set"),
            word("app.tenant"),
            Token::Mark(b'='),
            value("t1"),
        ],
        vec![
            word("select"),
            word("A b"),
            Token::Mark(b','),
            value("two"),
            word("from"),
            word("s1.t"),
            word("where"),
            word("n"),
            Token::Mark(b'='),
            value("q"),
        ],
    ];
    assert_eq!(
        statements(text, false, &[None, Some(b"two".to_vec())]),
        expected
    );
    let expected = vec![vec![
        word("set"),
        word("@a"),
        Token::Mark(b'='),
        value("b"),
        Token::Mark(b','),
        Token::Value(None),
    ]];
    assert_eq!(
        statements(b"SET @a = \"b\", ? # it's", true, &[None]),
        expected
    );
}
