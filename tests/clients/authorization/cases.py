"""The cases: what the mock is told, what a good client does, and what is said of others.

A case has a title, and:
- `auth`, `faults`: members of the manifest.
- `steps`: tools to call, and pauses; `read` alone by default. An agent that only logs in has no steps.
- `after_login`: whether a client must connect after its login.
- `texts`: the number of tool results that a good client gets; that of the tools by default. `None` is any.
- `expect`: expectations, each with the words for a client that does not meet it.
"""

READ = {"scopes": ["read"]}
LATER = {"method": "tools/call", "times": 1}


def seen(method, words, times=None, **match):
    """An expectation; at least once by default."""
    expectation = {"method": method}
    if match:
        expectation["match"] = match
    if times is not None:
        expectation["times"] = times
    return expectation, words


def case(title, auth=None, faults=(), **more):
    return {"title": title, "auth": READ if auth is None else auth, "faults": list(faults), **more}


def auth(**members):
    return {**READ, **members}


def fault(name, **members):
    return {"fault": name, **members}


NO_TOKEN = seen("http/token", "exchanges the code", times=0)
NO_CALL = seen("tools/call", "goes on", times=0)
REFRESHES = seen("http/token", "logs in again", grant_type="refresh_token", ok=True)
WITH = {"type": "string"}
PUBLIC = {"client_id": "known", "redirect_uris": ["http://localhost:3030/callback"]}

CASES = [
    # Logins.
    case("opaque token", auth(tokens="opaque")),
    case("JWT", auth(tokens="jwt")),
    case("metadata of RFC 8414 alone", auth(discovery=["oauth"])),
    case("metadata of OpenID alone", auth(discovery=["openid"])),
    case("dynamic registration", auth(registration=["dynamic"]), expect=[seen("http/register", "does not register")]),
    case("client id metadata document", auth(registration=["document"]), way="document"),
    case("registered client", auth(registration=[], clients=[PUBLIC]), way="known"),
    case("registered client with a secret", auth(registration=[], clients=[{**PUBLIC, "client_secret": "key"}]), way="secret"),
    case("PKCE with S256", expect=[seen("http/authorize", "without S256", code_challenge_method="S256"), seen("http/token", "no verifier", pkce=True)]),
    case("`resource` of the code", expect=[seen("http/authorize", "not sent", resource=WITH)]),
    case("`resource` of the token", expect=[seen("http/token", "not sent", resource=WITH)]),
    case("scope of the challenge", expect=[seen("http/authorize", "not requested", scope={"regex": "read"})]),
    case("`state`", expect=[seen("http/authorize", "not sent", state=True)]),
    case("no consent", auth(consent="deny"), texts=0, expect=[NO_TOKEN]),
    case("no refresh token", auth(refresh="never")),
    case("slow token endpoint", faults=[fault("slow-token:3000")]),
    # Tokens.
    case("401 in the middle", faults=[fault("unauthorized", **LATER)]),
    case("token that expires", auth(token_seconds=1), steps=["read", 1200, "read"], expect=[REFRESHES]),
    case("`resource` of a refresh", auth(token_seconds=1), steps=["read", 1200, "read"], expect=[seen("http/token", "not sent", grant_type="refresh_token", resource=WITH)]),
    case("refresh tokens that change", auth(token_seconds=1), steps=["read", 1200, "read", 1200, "read"], expect=[REFRESHES, seen("http/token", "an old one", times=0, error="invalid_grant")]),
    case("refresh token that stays", auth(token_seconds=1, refresh="keep"), steps=["read", 1200, "read", 1200, "read"], expect=[REFRESHES]),
    case("clock of the resource ahead", auth(clock_skew_seconds=3599), steps=["read", 1200, "read"]),
    case("refresh that fails", auth(token_seconds=1), [fault("refresh-fails")], steps=["read", 1200, "read"]),
    case("token that has expired at once", faults=[fault("expired-token", times=1)], after_login=True),
    case("token for another resource", faults=[fault("wrong-audience", times=1)], after_login=True),
    case("more scopes for one tool", auth(tool_scopes={"write": ["write"]}), steps=["read", "write"]),
    case("scope that nobody gets", faults=[fault("insufficient-scope", method="tools/call")], texts=0, expect=[({"method": "http/refused", "match": {"status": 403}, "at_most": 4}, "loops")]),
    # Deceptions.
    case("metadata of another issuer", faults=[fault("wrong-issuer")], texts=0, expect=[NO_TOKEN]),
    case("metadata with a link-local address", faults=[fault("link-local")], texts=0, strays="goes there"),
    case("code of another issuer", faults=[fault("mix-up")], texts=0, expect=[NO_TOKEN]),
    case("redirect to another origin", faults=[fault("redirect", **LATER)], texts=None, expect=[seen("http/elsewhere", "sends the token", times=0, authorization=True)]),
    # HTTP.
    case("429 with Retry-After", faults=[fault("rate-limited:1", **LATER)], expect=[seen("http/retry", "too early", times=0, early=True)]),
    case("502, and the call after it", faults=[fault("bad-gateway", **LATER)], steps=["read", "read"], texts=(1, 2)),
    case("connection that ends, and the call after it", faults=[fault("gone", **LATER)], steps=["read", "read"], texts=(1, 2)),
    case("answer that is cut, and the call after it", faults=[fault("cut", **LATER)], steps=["read", "read"], texts=(1, 2)),
    case("stream that is resumed", faults=[fault("cut-resumable", **LATER)], expect=[seen("http/resume", "not resumed")]),
    case("event that comes twice", faults=[fault("duplicate-event", **LATER)]),
    case("session that is forgotten", faults=[fault("forget-session", **LATER)], steps=["read", "read"], texts=(1, 2), expect=[({"method": ["initialize", "server/discover"], "at_least": 2}, "no new session")]),
    case("session id with odd characters", faults=[fault("odd-session")], after_login=True),
    case("revision that nobody has", faults=[fault("unknown-revision")], texts=0, expect=[NO_CALL], after_login=True),
    case("revision that is refused, and the call after it", faults=[fault("version-refused", **LATER)], steps=["read", "read"], texts=(1, 2)),
]
