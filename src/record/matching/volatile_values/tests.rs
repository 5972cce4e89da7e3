use pretty_assertions::assert_eq;

use super::*;

/// Returns a text with each generated value as its shape between marks, on 23 November 2026.
fn blanked(text: &str) -> String {
    let mut blank = ValueBlanker::new(
        SystemTime::UNIX_EPOCH + Duration::from_mins(29_924_500),
        false,
    );
    String::from_utf8(blank.text(text.as_bytes()))
        .unwrap()
        .replace('\0', "|")
}

#[test]
fn generated_values_are_recognized_by_shape() {
    for (text, expected) in [
        ("job:3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b:a", "job:|uuid|:a"),
        ("/o/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/o/|ulid|"),
        (
            "{\"id\":\"65a1b2c3d4e5f60718293a4b\"}",
            "{\"id\":\"|hex24|\"}",
        ),
        (
            "at 2026-11-23 21:50:19.1234+00:00, 2026-11-24T01:00Z",
            "at |time|, |time|",
        ),
        ("2026-11-22", "|day|"),
        ("Mon, 23 Nov 2026 21:50:19 GMT", "|date of HTTP|"),
        ("1795470019 1795470019123", "|time10| |time13|"),
        ("9f86d081884c7d659a2feaa0c55ad015", "|hex32|"),
        ("abcdefab12345678cdefabcd90123456", "|hex32|"),
        (
            "bb8187b85fbb868652217bab2824aaaa:00000000ffffffff",
            "|hex32|:|run16|",
        ),
        ("0000000000000000", "|run16|"),
        ("q3Fq9sLwT7bXc2Kd8VnQpA", "|run22|"),
        ("PPMiQKkQuTCirqN6qoMfyCysMXCkvqPJ", "|run32|"),
        ("lNMXxdmsXxvjeN9-HF-adg", "|run22|"),
        ("BNkKQXPFLfYRRXKo", "|run16|"),
        ("k2vq81xj3h0dzt5mw7bn4rcp", "|run24|"),
        ("cxyfxP240_4LGPP-VM-_2WoxdUCEsAoj", "|run32|"),
        ("ordersCreatedByHTTPServer", "|run25|"),
        ("READ_ONLY_AND_deferrable", "|run24|"),
        ("2024-01-01", "2024-01-01"),
        ("1234567890", "1234567890"),
        (
            "celery-task-meta-3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b_x",
            "|run17||uuid|_x",
        ),
        ("pi_65a1b2c3d4e5f60718293a4b", "pi_|hex24|"),
        ("1795470019.0940404 1795470019.5", "|time10| |time10|"),
        ("20261123T215019Z", "|basic time|"),
        ("job-3fa91c2e", "|run12|"),
        ("customer 42", "customer 42"),
        ("session:-q3Fq9sLwT7_Xc2Kd8VnQpA", "session:|run23|"),
        ("order-2024-rollout-plan-b2", "|run26|"),
        ("iphone14promax128gb", "|run19|"),
        ("SELECT_something_very_long", "|run26|"),
        ("550e8400", "|run8|"),
        ("EUR-USD-GBP-JPY-CHF", "|run19|"),
        ("QuarterlySalesEMEA2024", "|run22|"),
        ("x86_64-unknown-linux-gnu", "|run24|"),
    ] {
        assert_eq!(blanked(text), expected, "{text}");
    }
}

#[test]
fn binary_times_near_run_are_recognized() {
    let near = 29_924_500_u64 * 60;
    let time = |word: u64| {
        let mut blank =
            ValueBlanker::new(SystemTime::UNIX_EPOCH + Duration::from_secs(near), false);
        let bytes = [b"a", &word.to_be_bytes()[..], b"b"].concat();
        blank.text(&bytes) == b"a\0binary time\0b"
    };
    let double = |value: f64| value.to_bits();
    for (word, expected) in [
        (near, true),
        (near * 1000 + 7, true),
        ((near + 93_000) * 1_000_000, true),
        ((near - 93_000) * 1_000_000_000, true),
        ((near - POSTGRES_EPOCH_SECS) * 1_000_000, true),
        (double(near as f64 + 0.25), true),
        (double(near as f64 * 1e3), true),
        (double(near as f64 * 1e6), true),
        (near + 94_000, false),
        (double(-(near as f64)), false),
        (near.swap_bytes(), false),
        (0, false),
        (u64::MAX, false),
    ] {
        assert_eq!(time(word), expected, "{word}");
    }
}

/// Source of draws that is the same in each run (xorshift64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    fn text(&mut self, letters: &str, length: usize) -> String {
        let letters = letters.as_bytes();
        let letter = |_| char::from(letters[self.below(letters.len() as u64) as usize]);
        (0..length).map(letter).collect()
    }

    fn hex(&mut self, length: usize) -> String {
        self.text("0123456789abcdef", length)
    }

    fn uuid(&mut self) -> String {
        let lengths = [8, 4, 4, 4, 12];
        lengths.map(|length| self.hex(length)).join("-")
    }

    fn ulid(&mut self) -> String {
        let rest = self.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 16);
        format!("01KB9M6X3D{rest}")
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns true if a recording with one text answers a call with the other.
fn matches(one: &str, other: &str) -> bool {
    let blanked = |text: &str| {
        let near = SystemTime::UNIX_EPOCH + Duration::from_mins(29_924_500);
        let mut blank = ValueBlanker::new(near, false);
        (blank.text(text.as_bytes()), blank.values)
    };
    let ((one, recorded), (other, asked)) = (blanked(one), blanked(other));
    let mut pairs = ValuePairs::default();
    pairs.know(&recorded, 0);
    one == other && pairs.fit(0, |_| false, &recorded, &asked)
}

/// Values that libraries make anew, and the draws of 10,000 that may miss.
type GeneratedKind = (&'static str, usize, fn(&mut Draws) -> String);

const GENERATED_KINDS: [GeneratedKind; 26] = [
    ("uuid", 0, Draws::uuid),
    ("celery-task-meta-", 0, |draws| {
        format!("celery-task-meta-{}", draws.uuid())
    }),
    ("order_uuid", 0, |draws| format!("order_{}", draws.uuid())),
    ("uuid_suffix", 0, |draws| format!("{}_x", draws.uuid())),
    ("hex 32", 0, |draws| draws.hex(32)),
    ("user-hex32", 0, |draws| format!("user-{}", draws.hex(32))),
    ("ctag1.hex32", 0, |draws| format!("ctag1.{}", draws.hex(32))),
    ("sha1", 0, |draws| format!("v1-{}", draws.hex(40))),
    ("pi_hex24", 0, |draws| format!("pi_{}", draws.hex(24))),
    ("ulid", 0, Draws::ulid),
    ("req_ulid", 0, |draws| format!("req_{}", draws.ulid())),
    ("hex 16", 10, |draws| draws.hex(16)),
    ("req_hex14 (Stripe)", 10, |draws| {
        format!("req_{}", draws.hex(14))
    }),
    ("call_base62 (OpenAI)", 10, |draws| {
        format!("call_{}", draws.text(BASE62, 24))
    }),
    ("_INBOX. (NATS)", 10, |draws| {
        format!("_INBOX.{}", draws.text(BASE62, 22))
    }),
    ("ksuid", 10, |draws| format!("2{}", draws.text(BASE62, 26))),
    ("nanoid", 10, |draws| draws.text(BASE64, 21)),
    ("token_urlsafe(16)", 10, |draws| draws.text(BASE64, 22)),
    ("token_urlsafe(32)", 10, |draws| draws.text(BASE64, 43)),
    ("amq.gen-", 10, |draws| {
        format!("amq.gen-{}", draws.text(BASE64, 22))
    }),
    ("cuid2", 10, |draws| format!("c{}", draws.text(LOWER, 23))),
    ("base32", 20, |draws| {
        draws.text("abcdefghijklmnopqrstuvwxyz234567", 26)
    }),
    ("time in seconds", 0, |draws| {
        (1_795_470_000 - draws.below(3600)).to_string()
    }),
    ("time.time()", 0, |draws| {
        format!(
            "{}.{}",
            1_795_470_000 - draws.below(3600),
            1 + draws.below(1_000_000)
        )
    }),
    ("time in ms", 0, |draws| {
        (1_795_470_000_000 - draws.below(3_600_000)).to_string()
    }),
    ("snowflake", 0, |draws| {
        let ms = 1_795_470_000_000 - draws.below(3_600_000) - SNOWFLAKE_EPOCHS_MS[0];
        ((ms << 22) | draws.below(1 << 22)).to_string()
    }),
];

#[test]
fn draws_of_generated_values_match() {
    let mut draws = Draws(0x2545_F491_4F6C_DD1D);
    let mut missed = Vec::new();
    for (name, most, draw) in GENERATED_KINDS {
        let misses = (0..10_000).filter(|_| !matches(&draw(&mut draws), &draw(&mut draws)));
        let count = misses.count();
        if count > most {
            missed.push((name, count));
        }
    }
    assert_eq!(missed, []);
}

#[test]
fn different_business_values_do_not_match() {
    let mut draws = Draws(0x9E37_79B9_7F4A_7C15);
    let kinds: [fn(&mut Draws) -> String; 9] = [
        |draws| format!("order-{}", draws.below(1_000_000)),
        |draws| format!("INV-2026-{:06}", draws.below(1_000_000)),
        |draws| format!("A{:07}", draws.below(10_000_000)),
        |draws| format!("SKU{:010}", draws.below(10_000_000_000)),
        |draws| format!("{:010}", draws.below(9_000_000_000)),
        |draws| format!("+4917{:08}", draws.below(100_000_000)),
        |draws| format!("DE{:020}", draws.below(1 << 60)),
        |draws| format!("{}.{:02}", draws.below(100_000_000), draws.below(100)),
        |draws| {
            format!(
                "2024-{:02}-{:02}T10:00:00Z",
                1 + draws.below(12),
                1 + draws.below(28)
            )
        },
    ];
    for kind in kinds {
        for _ in 0..5_000 {
            let (one, other) = (kind(&mut draws), kind(&mut draws));
            assert!(one == other || !matches(&one, &other), "{one} {other}");
        }
    }
    let names = [
        "ordersCreatedByHTTPServer",
        "invoicesMadeByGRPCServers",
        "order-2024-rollout-plan-b2",
        "order-2025-rollout-plan-c1",
        "iphone14promax128gb",
        "galaxyultra21s256gb",
        "QuarterlySalesEMEA2024",
        "QuarterlySalesAPAC2025",
        "customer-subscriptions",
        "payments-reconciliation",
        "anna.schmidt2@example.com",
        "otto.schulze7@example.com",
        "x86_64-unknown-linux-gnu",
        "riscv64gc-linux-musl-gnu",
        "EUR-USD-GBP-JPY-CHF",
        "SEK-NOK-DKK-PLN-CZK",
    ];
    for one in names {
        for other in names.iter().filter(|other| **other != one) {
            assert!(!matches(one, other), "{one} {other}");
        }
    }
}

#[test]
fn generated_value_stays_paired_with_first_match() {
    let value = |text: &str| {
        vec![VolatileValue {
            text: text.to_owned(),
            kind: ValueKind::Id,
        }]
    };
    let mut pairs = ValuePairs::default();
    pairs.know(&value("a"), 0);
    pairs.know(&[value("a"), value("b")].concat(), 1);
    let fit = |pairs: &ValuePairs, index, one, other| {
        pairs.fit(index, |_| false, &value(one), &value(other))
    };
    assert!(fit(&pairs, 0, "a", "x"));
    assert!(!fit(&pairs, 1, "a", "x"), "it was not new there");
    assert!(!fit(&pairs, 0, "a", "b"), "that is another recording's");
    pairs.pair("mock-1", &value("a"), &value("x"));
    let fits = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]
        .map(|(one, other)| fit(&pairs, 1, one, other));
    assert_eq!(fits, [true, false, false, true]);
    assert_eq!(
        pairs.differences(),
        [("mock-1".to_owned(), "recorded `a`, asked `x`".to_owned())].into()
    );
}
