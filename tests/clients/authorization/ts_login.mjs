// The official TypeScript SDK with its login.
//
// usage: ts_login.mjs URL WAY [TOOL|PAUSE_MS...]
//
// Prints a JSON object for each event. The user consents at once.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";

const REDIRECT = "http://localhost:3030/callback";
const [url, way, ...steps] = process.argv.slice(2);
const say = (event) => console.log(JSON.stringify(event));

let tokens;
let verifier;
let callback;
let info = { known: { client_id: "known" }, secret: { client_id: "known", client_secret: "key" } }[way];
const provider = {
  redirectUrl: REDIRECT,
  clientMetadata: { client_name: "a client", redirect_uris: [REDIRECT] },
  clientMetadataUrl: way === "document" ? "https://client.example/client.json" : undefined,
  state: () => "of-this-login",
  clientInformation: () => info,
  saveClientInformation: (saved) => { info = saved; },
  tokens: () => tokens,
  saveTokens: (saved) => { tokens = saved; },
  saveCodeVerifier: (saved) => { verifier = saved; },
  codeVerifier: () => verifier,
  redirectToAuthorization: async (page) => {
    if (page.host !== new URL(url).host) {
      say({ strays: page.href });
      throw new Error("another origin");
    }
    const answer = await fetch(page, { redirect: "manual" });
    callback = new URL(answer.headers.get("location")).searchParams;
  },
};

// The program's part of a login.
async function finish(transport, error) {
  const code = callback?.get("code");
  callback = undefined;
  if (!(error instanceof UnauthorizedError) || !code) throw error;
  await transport.finishAuth(code);
}

async function connect(again = 3) {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: "a-client", version: "1" });
  try {
    await client.connect(transport);
    return [client, transport];
  } catch (error) {
    if (again === 0) throw error;
    await finish(transport, error);
    return connect(again - 1);
  }
}

const [client, transport] = await connect();
for (const step of steps) {
  if (/^\d+$/.test(step)) {
    await new Promise((resolve) => setTimeout(resolve, Number(step)));
    continue;
  }
  const call = () => client.callTool({ name: step }, undefined, { timeout: 15_000 });
  try {
    const result = await call().catch(async (error) => {
      await finish(transport, error);
      return call();
    });
    say({ text: result.content[0].text });
  } catch (error) {
    say({ failed: error.message });
  }
}
await client.close();
process.exit(0);
