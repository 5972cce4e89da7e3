// Streamable HTTP in front of a server that speaks over stdio: for tests, on the loopback, and no more than they need.
//
// A session of a handshake revision is a process that lives as long as the bridge. A request of 2026-07-28 belongs to no
// session and gets a process of its own, so whatever that writes before the answer belongs to the request.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import http from "node:http";
import readline from "node:readline";

const STATELESS = "2026-07-28";
const HEADER_MISMATCH = -32020;
// 2026-07-28, basic/transports/streamable-http; anything else that went wrong is told with 200.
const STATUS = { [-32601]: 404, [-32602]: 400, [-32700]: 400, [-32600]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

// A process that speaks over stdio. `heard` gets each of its messages.
class Peer {
  constructor(command, heard) {
    this.child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {});
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => heard(JSON.parse(line)));
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  end() {
    this.child.stdin.end();
  }
}

// The HTTP answer to one request: JSON if the answer is all there is, events if something comes before it.
class Reply {
  constructor(response, id, headers, strict) {
    Object.assign(this, { response, id, headers, strict, streams: false });
  }

  // Whether this message was the last one.
  hear(message) {
    const last = message.id === this.id && message.method === undefined;
    if (last && !this.streams) {
      const status = this.strict ? (STATUS[message.error?.code] ?? 200) : 200;
      this.response.writeHead(status, { "content-type": "application/json", ...this.headers });
      this.response.end(JSON.stringify(message));
      return true;
    }
    if (!this.streams) {
      this.streams = true;
      this.response.writeHead(200, { "content-type": "text/event-stream", ...this.headers });
    }
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    if (last) this.response.end();
    return last;
  }
}

const isLocal = (host) => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? "");

function refuse(response, status, code, text, id = null) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: text } }));
}

// Why the headers of a stateless request do not fit its body (basic/transports/streamable-http), if they do not.
function mismatch(headers, message) {
  const version = message.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  if (version !== undefined && headers["mcp-protocol-version"] !== version) return "MCP-Protocol-Version";
  if (headers["mcp-method"]?.trim() !== message.method) return "Mcp-Method";
  const named = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" }[message.method];
  const name = headers["mcp-name"]?.trim().replace(/^=\?base64\?(.*)\?=$/, (_, text) => Buffer.from(text, "base64").toString());
  if (named && name !== message.params?.[named]) return "Mcp-Name";
  return undefined;
}

// Serves `command` at http://127.0.0.1:PORT/mcp, and resolves to the URL and a function that ends it all.
export function serve(command) {
  const sessions = new Map();
  const peers = new Set();

  function start(heard) {
    const peer = new Peer(command, heard);
    peers.add(peer);
    peer.child.on("exit", () => peers.delete(peer));
    return peer;
  }

  function stateless(request, response, message) {
    const why = message.id === undefined ? undefined : mismatch(request.headers, message);
    if (why) return refuse(response, 400, HEADER_MISMATCH, `${why} does not fit the body`, message.id);
    const reply = new Reply(response, message.id, {}, true);
    const peer = start((heard) => {
      if (reply.hear(heard)) peer.end();
    });
    response.on("close", () => peer.end());
    peer.send(message);
    if (message.id === undefined) {
      peer.end();
      response.writeHead(202).end();
    }
    return undefined;
  }

  function open() {
    const id = randomUUID();
    const session = { id, replies: [] };
    session.peer = start((heard) => {
      const answer = heard.method === undefined;
      // What names no request goes where the newest one waits.
      const index = answer ? session.replies.findIndex((reply) => reply.id === heard.id) : session.replies.length - 1;
      if (index >= 0 && session.replies[index].hear(heard)) session.replies.splice(index, 1);
    });
    sessions.set(id, session);
    return session;
  }

  function inSession(request, response, message) {
    const session = message.method === "initialize" ? open() : sessions.get(request.headers["mcp-session-id"]);
    if (!session) return refuse(response, 404, -32600, "no such session", message.id);
    if (message.method !== undefined && message.id !== undefined) {
      session.replies.push(new Reply(response, message.id, { "mcp-session-id": session.id }, false));
    } else {
      response.writeHead(202).end();
    }
    session.peer.send(message);
    return undefined;
  }

  const server = http.createServer(async (request, response) => {
    const origin = request.headers.origin;
    if (!isLocal(request.headers.host) || (origin && !isLocal(origin.replace(/^https?:\/\//, "")))) {
      return refuse(response, 403, -32600, "only from this machine");
    }
    const session = sessions.get(request.headers["mcp-session-id"]);
    if (request.method === "DELETE" && session) {
      session.peer.end();
      sessions.delete(session.id);
      return response.writeHead(200).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    let message;
    try {
      message = JSON.parse(body);
    } catch {
      return refuse(response, 400, -32700, "no JSON");
    }
    const versioned = message.params?._meta?.["io.modelcontextprotocol/protocolVersion"] !== undefined;
    const modern = versioned || request.headers["mcp-protocol-version"] === STATELESS;
    return (modern ? stateless : inSession)(request, response, message);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
    for (const peer of peers) peer.end();
  };
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}/mcp`, close }));
  });
}
