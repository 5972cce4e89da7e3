"""The official Python SDK with its login.

usage: python_login.py URL WAY [TOOL|PAUSE_MS...]

Prints a JSON object for each event. The user consents at once.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

REDIRECT = "http://localhost:3030/callback"


def say(**event):
    print(json.dumps(event), flush=True)


class Storage:
    def __init__(self, info):
        self.tokens, self.info = None, info

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, info):
        self.info = info


async def main(url, way, steps):
    callback = {}

    async def redirected(page):
        if urlparse(page).netloc != urlparse(url).netloc:
            say(strays=page)
            raise RuntimeError("another origin")
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(page, follow_redirects=False)
        fields = parse_qs(urlparse(answer.headers["location"]).query)
        callback.clear()
        callback.update({name: values[0] for name, values in fields.items()})

    async def called_back():
        if "code" not in callback:
            raise RuntimeError(callback.get("error"))
        return AuthorizationCodeResult(**{name: callback.get(name) for name in ("code", "state", "iss")})

    async def asked(request):
        if request.url.host not in ("127.0.0.1", "localhost"):
            say(strays=str(request.url))
            raise RuntimeError("another machine")

    metadata = OAuthClientMetadata(client_name="a client", redirect_uris=[REDIRECT])
    known = {"client_id": "known", "redirect_uris": [REDIRECT]}
    if way == "secret":
        known |= {"client_secret": "key", "token_endpoint_auth_method": "client_secret_post"}
    info = OAuthClientInformationFull(**known) if way in ("known", "secret") else None
    document = "https://client.example/client.json" if way == "document" else None
    login = OAuthClientProvider(url, metadata, Storage(info), redirected, called_back, client_metadata_url=document)
    async with (
        httpx2.AsyncClient(auth=login, timeout=10, event_hooks={"request": [asked]}) as http,
        streamable_http_client(url, http_client=http) as (reads, writes),
        ClientSession(reads, writes) as session,
    ):
        await session.initialize()
        for step in steps:
            if step.isdigit():
                await asyncio.sleep(int(step) / 1000)
                continue
            try:
                result = await asyncio.wait_for(session.call_tool(step, {}), 15)
                say(text=result.content[0].text)
            except Exception as error:
                say(failed=str(error))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
