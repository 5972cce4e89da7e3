use std::time::{Duration, Instant};

use replay_base::budget::{Budget, Purpose};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Returns a direction with this memory budget after eight reads that filled its buffer, and its
/// connection.
async fn filled(budget: usize) -> (Direction, replay_base::budget::Account, Stream, TcpStream) {
    let account = Budget::new(budget).account();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let all: usize = (0..8)
        .map(|step| MAX_RELAY_BUFFER_BYTES.min(RELAY_BUFFER_BYTES << step))
        .sum();
    let stream = Stream::new(listener.accept().await.unwrap().0).put_back(vec![7; all]);
    let (mut from, mut to) = split(stream);
    let mut direction = Direction {
        extra: account.share(),
        ..Direction::default()
    };
    for _ in 0..8 {
        let RelayStep::Read(Ok(1..)) = direction.step(&mut from, &mut to, true).await else {
            panic!("nothing was read")
        };
        direction.clear();
    }
    (direction, account, from.unsplit(to), other)
}

#[tokio::test]
async fn relay_buffer_grows_within_memory_budget() {
    for (budget, expected) in [
        (64 << 10, RELAY_BUFFER_KEPT_BYTES),
        (4 << 20, MAX_RELAY_BUFFER_BYTES),
    ] {
        let (direction, ..) = filled(budget).await;
        let taken = (direction.waiting.capacity(), direction.extra.bytes());
        assert_eq!(
            taken,
            (expected, expected - RELAY_BUFFER_KEPT_BYTES),
            "{budget}"
        );
    }
}

#[tokio::test]
async fn idle_relay_buffer_returns_memory() {
    let (mut direction, account, stream, _other) = filled(4 << 20).await;
    let (mut from, mut to) = split(stream);
    let until = Instant::now() + Duration::from_secs(20);
    let free = tokio::task::spawn_blocking(move || {
        account
            .take(3 << 20, Purpose::Work, Some(until), None)
            .is_ok()
    });
    tokio::select! {
        _ = direction.step(&mut from, &mut to, true) => panic!("something was read"),
        free = free => assert!(free.unwrap(), "it was not given back"),
    }
    assert_eq!(
        (direction.waiting.capacity(), direction.extra.bytes()),
        (RELAY_BUFFER_KEPT_BYTES, 0)
    );
}
