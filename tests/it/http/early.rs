//! Answers that come before a request is whole, over HTTP/2: none is broken off before it has arrived.

use bytes::Bytes;
use h2::{Reason, client};
use http::Request;
use pretty_assertions::assert_eq;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Server, command};
use crate::harness::DEADLINE;
use crate::tree::Tree;

/// Posts this in two pieces, of which the second may be missing, without a token; the status, the body, and how the server
/// ended the stream if it did so by itself.
async fn refused(server: &Server, pieces: [Option<usize>; 2]) -> (u16, Vec<u8>, Option<Reason>) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut sender = sender.ready().await.unwrap();
    let request = Request::post(format!("http://{}/mcp", server.address));
    let request = request.header("content-type", "application/json").body(()).unwrap();
    let (answer, mut body) = sender.send_request(request, false).unwrap();
    let is_whole = pieces[1].is_some();
    for (index, length) in pieces.into_iter().flatten().enumerate() {
        body.send_data(Bytes::from(vec![b' '; length]), is_whole && index == 1).unwrap();
    }
    let (head, mut reply) = answer.await.unwrap().into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = reply.data().await {
        let piece = piece.expect("nothing breaks it off");
        reply.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend(piece);
    }
    let reset = if is_whole { None } else { Some(std::future::poll_fn(|cx| body.poll_reset(cx)).await.unwrap()) };
    (head.status.as_u16(), bytes, reset)
}

#[tokio::test]
async fn a_refusal_arrives_whatever_is_still_to_be_sent() {
    let tree = Tree::new();
    tree.dir("work");
    let mut command = command(&tree, &["--allow", &tree.text("work"), "--tools", "files"]);
    command.env("REPLAY_TOKEN", "correct-horse-battery");
    let server = Server::spawn(command);
    let text = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a token is needed: `Authorization: Bearer \
        TOKEN`\"}}";
    let expected = |reset| (401, text.as_bytes().to_vec(), reset);
    let ask = |pieces| timeout(DEADLINE, refused(&server, pieces));
    assert_eq!(ask([Some(1000), Some(9000)]).await.unwrap(), expected(None));
    // It never comes.
    assert_eq!(ask([Some(1000), None]).await.unwrap(), expected(Some(Reason::NO_ERROR)));
    assert_eq!(ask([None, None]).await.unwrap(), expected(Some(Reason::NO_ERROR)));
}
