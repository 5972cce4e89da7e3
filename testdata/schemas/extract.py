#!/usr/bin/env python3
"""Rebuilds testdata/schemas/<revision>/schema.json from the sources of the crate rust-mcp-schema.

usage: extract.py DIRECTORY-OF-THE-CRATE

The crate is generated from the official schema of each revision, and carries the schema of every type, as
JSON, in the documentation of that type. Here they are put together again: one definition per type that a
message can reach, under its official name. README.md beside this file says more.
"""

import json
import pathlib
import re
import sys

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

# What the harness validates against; everything that these refer to follows.
ROOTS = [
    "CallToolResult", "CompleteResult", "DiscoverResult", "EmptyResult", "GetPromptResult", "InitializeResult",
    "JSONRPCBatchResponse", "JSONRPCError", "JSONRPCErrorResponse", "JSONRPCNotification", "JSONRPCRequest",
    "JSONRPCResponse", "JSONRPCResultResponse", "ListPromptsResult", "ListResourceTemplatesResult",
    "ListResourcesResult", "ListToolsResult", "LoggingMessageNotification", "MissingRequiredClientCapabilityError",
    "ProgressNotification", "PromptListChangedNotification", "ReadResourceResult",
    "ResourceListChangedNotification", "ResourceUpdatedNotification", "Result", "ServerNotification",
    "ServerResult", "SubscriptionsAcknowledgedNotification", "SubscriptionsListenResult", "Tool",
    "ToolListChangedNotification", "UnsupportedProtocolVersionError",
]


def documented(source: str) -> dict:
    """Rust type name -> the schema in its documentation."""
    found = {}
    pattern = re.compile(r"^/// ```json\n((?:///.*\n)+?)/// ```\n[\s\S]*?^pub (?:struct|enum|type) (\w+)", re.M)
    for match in pattern.finditer(source):
        body = "\n".join(line[3:] for line in match.group(1).splitlines())
        found[match.group(2)] = json.loads(body)
    return found


def references(schema: dict) -> list:
    return re.findall(r'"#/(?:definitions|\$defs)/(\w+)"', json.dumps(schema))


def main() -> None:
    crate = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    for revision in REVISIONS:
        module = crate / "src/generated_schema" / revision.replace("-", "_")
        types = documented((module / "mcp_schema.rs").read_text())
        # Rust writes JsonrpcError where the schema says JSONRPCError; `Error` alone is renamed, to RpcError.
        by_fold = {name.lower(): name for name in types}
        wanted, definitions = list(ROOTS), {}
        while wanted:
            name = wanted.pop()
            rust = "RpcError" if name == "Error" else by_fold.get(name.lower())
            if name in definitions:
                continue
            if rust is None:
                if name in ROOTS:
                    continue  # this revision has no such type
                raise SystemExit(f"{revision}: `{name}` is referred to and nowhere defined")
            definitions[name] = types[rust]
            wanted += references(types[rust])
        key = "$defs" if '"#/$defs/' in json.dumps(definitions) else "definitions"
        draft = {
            "definitions": "http://json-schema.org/draft-07/schema#",
            "$defs": "https://json-schema.org/draft/2020-12/schema",
        }[key]
        target = here / revision / "schema.json"
        target.parent.mkdir(exist_ok=True)
        text = json.dumps({"$schema": draft, key: dict(sorted(definitions.items()))}, indent=2, ensure_ascii=False)
        target.write_text(text + "\n")


main()
