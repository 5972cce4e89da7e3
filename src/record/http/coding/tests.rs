use super::*;

fn headers(coding: &str) -> Vec<(String, Vec<u8>)> {
    vec![("Content-Encoding".to_owned(), coding.as_bytes().to_vec())]
}

#[test]
fn codings_round_trip_bodies() {
    let long: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    for body in [
        &b"x"[..],
        b"hello hello hello",
        &long[..65_536],
        &long[..65_537],
        &long,
    ] {
        for coding in [
            "gzip",
            "x-gzip",
            "deflate",
            "br",
            "zstd",
            "gzip, br",
            "identity, gzip",
        ] {
            let on = encoded(&headers(coding), body).unwrap();
            assert_ne!(on, body, "{coding}");
            assert_eq!(
                decoded(&headers(coding), &on).as_deref(),
                Some(body),
                "{coding} {}",
                body.len()
            );
        }
    }
}

#[test]
fn body_with_digest_stays_encoded() {
    let plain = b"hello hello hello".to_vec();
    let ours = encoded(&headers("gzip"), &plain).unwrap();
    // Output of another encoder: the header holds a file name (RFC 1952, 2.3.1).
    let theirs = [&ours[..3], &[8], &ours[4..10], b"name\0", &ours[10..]].concat();
    let with = |digest: &str, body: &[u8]| {
        let mut headers = headers("gzip");
        headers.push((digest.to_owned(), b"x".to_vec()));
        let kept = stored(HttpResponse {
            headers,
            body: body.to_vec(),
            ..HttpResponse::default()
        });
        let sent = sent_body(&kept).into_owned();
        (kept.body, sent, kept.is_coded)
    };
    assert_eq!(with("ETag", &theirs), (plain.clone(), ours.clone(), false));
    assert_eq!(with("Content-Digest", &ours), (plain, ours.clone(), false));
    assert_eq!(
        with("Content-Digest", &theirs),
        (theirs.clone(), theirs.clone(), true)
    );
    assert_eq!(
        with("X-Amz-Checksum-CRC32", &theirs),
        (theirs.clone(), theirs, true)
    );
    // An undecodable body is not encoded again.
    let cut = ours[..12].to_vec();
    assert_eq!(with("ETag", &cut), (cut.clone(), cut, true));
}

#[test]
fn undecodable_body_stays_unchanged() {
    assert_eq!(decoded(&headers("gzip"), b"no gzip"), None);
    assert_eq!(decoded(&headers("dcb"), b"x"), None);
    assert_eq!(
        (
            decoded(&headers("identity"), b"x"),
            encoded(&headers("identity"), b"x")
        ),
        (None, None)
    );
    assert_eq!(
        (
            plain(&headers("gzip"), Vec::new()),
            encoded(&headers("gzip"), b"")
        ),
        (Vec::new(), None)
    );
    let bomb = encoded(&headers("gzip"), &vec![0; MAX_RECORDED_BODY_BYTES + 1]).unwrap();
    assert!(bomb.len() < MAX_RECORDED_BODY_BYTES / 50);
    assert_eq!(decoded(&headers("gzip"), &bomb), None);
}
