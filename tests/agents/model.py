"""A scripted model behind the interfaces of Anthropic, OpenAI and Google.

usage: model.py SCRIPT RECORD

SCRIPT is a JSON list of steps, {"name": ..., "tool": ..., "arguments": {...}}. The n-th turn of the model
calls the tool of the n-th step; the turn after the last step is a text. "search" of a step are words that
find its tool where the words of its name do not. RECORD gets one line of JSON per request. Prints the port and
serves until it is ended.
"""

import dataclasses
import http.server
import itertools
import json
import pathlib
import re
import sys
import threading
import typing
from collections.abc import Iterable, Iterator

# Tools of clients that load the tools of a server only when the model asks for them.
SEARCH_TOOLS = ("ToolSearch", "tool_search")
# Tool of a client that calls a tool found by a search.
INDIRECT_TOOL = "tool_call"
# Types of blocks that show the model a picture.
PICTURE_TYPES = ("image", "input_image", "image_url")
LAST_TEXT = "All steps are done."
SIDE_TEXT = "replay"
# A client that asks for one step more often than this does not keep the results.
MOST_REQUESTS_PER_STEP = 4


@dataclasses.dataclass
class Tool:
    """A tool that a request offers, by the client's name."""

    name: str
    namespace: str | None = None
    kind: str = "function"


@dataclasses.dataclass
class Call:
    """A call of a tool in the history of a request, or in a reply."""

    id: str
    tool: Tool
    arguments: dict | str = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Result:
    """The result of a call, as a request shows it to the model."""

    tool: str
    text: str = ""
    pictures: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Answer:
    """Content of the history that belongs to a call: its result, or what a user message adds."""

    id: str | None
    content: object


@dataclasses.dataclass
class Reply:
    """A turn of the model: a call or a text."""

    call: Call | None = None
    text: str = ""


# Tool of a client whose model calls tools in JavaScript, and a program that shows a result of ours.
CODE_TOOL = Tool("exec", "functions", "custom")
CODE = """const result = await tools.mcp__replay__%s(%s);
for (const block of result.content) block.type === "image" ? image(block) : text(block.text ?? block);
"""


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_content(content: object) -> tuple[str, list[str]]:
    """Splits the content of a message into its text and the media types of its pictures."""
    texts, pictures = [], []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(text := (block or {}).get("text"), str):
            texts.append(text)
        elif block and (block.get("type") in PICTURE_TYPES or "inlineData" in block):
            pictures += re.findall(r'"(?:data:|(?:media_type|mimeType)":")(image/\w+)', compact(block))
        elif block:
            texts.append(compact(block))
    return "\n".join(texts), pictures


class Dialect(typing.Protocol):
    """An interface of a vendor, between its JSON and the internal form."""

    path: re.Pattern

    def tools(self, body: dict) -> Iterator[Tool]:
        """Lists the tools that a request offers."""

    def history(self, body: dict) -> Iterator[Call | Answer]:
        """Lists the calls of a request, their results and what the user says."""

    def plain(self, body: dict, reply: Reply) -> dict:
        """Returns the response to a request."""

    def stream(self, body: dict, reply: Reply) -> Iterator[dict]:
        """Returns the same response as events."""


class Anthropic:
    """Messages of Anthropic."""

    path = re.compile(r"/messages$")

    def tools(self, body: dict) -> Iterator[Tool]:
        referenced = set(re.findall(r'"tool_reference","tool_name":"([^"]+)"', compact(body["messages"])))
        for tool in body.get("tools", []):
            if not tool.get("defer_loading") or tool["name"] in referenced:
                yield Tool(tool["name"])

    def history(self, body: dict) -> Iterator[Call | Answer]:
        for message in body["messages"]:
            content = message["content"]
            for block in [{"text": content}] if isinstance(content, str) else content:
                if block.get("type") == "tool_use":
                    yield Call(block["id"], Tool(block["name"]))
                elif block.get("type") == "tool_result":
                    yield Answer(block["tool_use_id"], block.get("content"))
                elif message["role"] == "user":
                    yield Answer(None, block)

    def plain(self, body: dict, reply: Reply) -> dict:
        if call := reply.call:
            block = {"type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments}
        else:
            block = {"type": "text", "text": reply.text}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [block],
            "stop_reason": "tool_use" if reply.call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }

    def stream(self, body: dict, reply: Reply) -> Iterator[dict]:
        message = self.plain(body, reply)
        (block,) = message["content"]
        start, delta = dict(block), {"type": "text_delta", "text": reply.text}
        if reply.call:
            start["input"] = {}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.call.arguments)}
        else:
            start["text"] = ""
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI Responses."""

    path = re.compile(r"/responses$")

    def tools(self, body: dict) -> Iterator[Tool]:
        groups = [body, *(item for item in self._items(body) if "tools" in item)]
        for tool in itertools.chain.from_iterable(group.get("tools", []) for group in groups):
            if tool["type"] == "namespace":
                yield from (Tool(inner["name"], tool["name"], inner["type"]) for inner in tool["tools"])
            else:
                yield Tool(tool.get("name", tool["type"]), None, tool["type"])

    def history(self, body: dict) -> Iterator[Call | Answer]:
        for item in self._items(body):
            kind = item.get("type", "message")
            if kind.endswith("_call"):
                yield Call(item["call_id"], Tool(item.get("name", kind.removesuffix("_call"))))
            elif kind.endswith("_output"):
                yield Answer(item["call_id"], item.get("output"))
            elif item.get("role") == "user":
                yield Answer(None, item["content"])

    @staticmethod
    def _items(body: dict) -> list[dict]:
        items = body["input"]
        return [{"role": "user", "content": items}] if isinstance(items, str) else items

    def plain(self, body: dict, reply: Reply) -> dict:
        if call := reply.call:
            item = {"id": "item_1", "call_id": call.id, "status": "completed"}
            if call.tool.kind == "tool_search":
                item |= {"type": "tool_search_call", "execution": "client", "arguments": call.arguments}
            elif call.tool.kind == "custom":
                item |= {"type": "custom_tool_call", "name": call.tool.name, "input": call.arguments}
            else:
                item |= {"type": "function_call", "name": call.tool.name}
                item["arguments"] = json.dumps(call.arguments)
            if call.tool.namespace:
                item["namespace"] = call.tool.namespace
        else:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            item = {"type": "message", "id": "item_1", "role": "assistant", "content": [part]}
            item["status"] = "completed"
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        usage["input_tokens_details"] = {"cached_tokens": 0}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": [item],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }

    def stream(self, body: dict, reply: Reply) -> Iterator[dict]:
        response = self.plain(body, reply)
        (item,) = response["output"]
        place = {"output_index": 0, "item_id": item["id"]}
        is_function = item["type"] == "function_call"
        empty = {"arguments": ""} if is_function else {} if reply.call else {"content": []}
        started = item | empty | {"status": "in_progress"}
        unfinished = response | {"status": "in_progress", "output": [], "usage": None}
        events = [
            {"type": "response.created", "response": unfinished},
            {"type": "response.output_item.added", "output_index": 0, "item": started},
        ]
        if is_function:
            events += [
                {"type": "response.function_call_arguments.delta", "delta": item["arguments"]} | place,
                {"type": "response.function_call_arguments.done", "arguments": item["arguments"]} | place,
            ]
        elif not reply.call:
            (part,) = item["content"]
            place["content_index"] = 0
            events += [
                {"type": "response.content_part.added", "part": part | {"text": ""}} | place,
                {"type": "response.output_text.delta", "delta": reply.text, "logprobs": []} | place,
                {"type": "response.output_text.done", "text": reply.text, "logprobs": []} | place,
                {"type": "response.content_part.done", "part": part} | place,
            ]
        events += [
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        for number, event in enumerate(events):
            yield event | {"sequence_number": number}


class ChatCompletions:
    """OpenAI Chat Completions."""

    path = re.compile(r"/chat/completions$")

    def tools(self, body: dict) -> Iterator[Tool]:
        return (Tool(tool["function"]["name"]) for tool in body.get("tools") or [])

    def history(self, body: dict) -> Iterator[Call | Answer]:
        for message in body["messages"]:
            for call in message.get("tool_calls") or []:
                yield Call(call["id"], Tool(call["function"]["name"]))
            if message["role"] == "tool":
                yield Answer(message["tool_call_id"], message["content"])
            elif message["role"] == "user":
                yield Answer(None, message["content"])

    def plain(self, body: dict, reply: Reply) -> dict:
        message = {"role": "assistant", "content": reply.text or None}
        if call := reply.call:
            function = {"name": call.tool.name, "arguments": json.dumps(call.arguments)}
            message["tool_calls"] = [{"id": call.id, "type": "function", "function": function}]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.call else "stop"}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
        }

    def stream(self, body: dict, reply: Reply) -> Iterator[dict]:
        whole = self.plain(body, reply)
        (choice,) = whole["choices"]
        delta = choice["message"]
        for index, call in enumerate(delta.get("tool_calls", [])):
            call["index"] = index
        chunk = whole | {"object": "chat.completion.chunk", "usage": None}
        yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        yield chunk | {"choices": [], "usage": whole["usage"]}


class Google:
    """Google generateContent."""

    path = re.compile(r":(generate|streamGenerate)Content$")

    def tools(self, body: dict) -> Iterator[Tool]:
        for group in body.get("tools", []):
            yield from (Tool(tool["name"]) for tool in group.get("functionDeclarations", []))

    def history(self, body: dict) -> Iterator[Call | Answer]:
        for content in body["contents"]:
            for part in content["parts"]:
                if call := part.get("functionCall"):
                    yield Call(call["name"], Tool(call["name"]))
                elif result := part.get("functionResponse"):
                    fields = list(result["response"].values())
                    text = fields[0] if len(fields) == 1 else result["response"]
                    text = text if isinstance(text, str) else compact(result["response"])
                    yield Answer(result["name"], [text, *result.get("parts", [])])
                elif content["role"] == "user":
                    yield Answer(None, part)

    def plain(self, body: dict, reply: Reply) -> dict:
        part = {"text": reply.text}
        if call := reply.call:
            part = {"functionCall": {"id": call.id, "name": call.tool.name, "args": call.arguments}}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        return {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": usage,
            "modelVersion": "scripted",
        }

    def stream(self, body: dict, reply: Reply) -> Iterator[dict]:
        yield self.plain(body, reply)


DIALECTS: tuple[Dialect, ...] = (Anthropic(), Responses(), ChatCompletions(), Google())


def read_results(history: Iterable[Call | Answer]) -> list[Result]:
    """Returns the results of calls; content of users after a result belongs to it."""
    names: dict[str, str] = {}
    results: list[Result] = []
    for entry in history:
        if isinstance(entry, Call):
            names[entry.id] = entry.tool.name
            continue
        text, pictures = read_content(entry.content)
        if entry.id is not None:
            results.append(Result(names.get(entry.id, entry.id), text, pictures))
        elif results:
            results[-1].pictures += pictures
    return results


def find_tool(tools: list[Tool], name: str) -> Tool | None:
    """Finds our tool by its name, which many clients prefix with their name of the server."""
    full_names = [(f"{tool.namespace or ''}_{tool.name}", tool) for tool in tools]
    prefixed = [(full, tool) for full, tool in full_names if "replay" in full]
    if prefixed or any(tool.name in SEARCH_TOOLS for tool in tools):
        # A bare name is that of a tool of the client.
        found = [tool for full, tool in prefixed if re.search(rf"[_/.-]{name}$", full)]
    else:
        found = [tool for tool in tools if tool.name == name]
    return found[0] if found else None


class Model:
    """State of one run of a script."""

    def __init__(self, steps: list[dict], record: pathlib.Path) -> None:
        self.steps = steps
        self.results: list[Result] = []
        self.offered: list[Tool] = []
        self.is_finished = False
        self._requests = [0] * len(steps)
        self._ids = itertools.count(1)
        self._record = record.open("w")
        self._lock = threading.Lock()

    def answer(self, dialect: Dialect, body: dict) -> Reply:
        """Returns the next turn of the script, and keeps the results that are new in this request."""
        with self._lock:
            tools = list(dialect.tools(body))
            results = [r for r in read_results(dialect.history(body)) if r.tool not in SEARCH_TOOLS]
            reply = self._next(tools, results)
            called = compact(dataclasses.asdict(reply.call)) if reply.call else reply.text
            self.note({"results": len(results), "reply": called, "request": body})
            return reply

    def _next(self, tools: list[Tool], results: list[Result]) -> Reply:
        search = next((tool for tool in tools if tool.name in SEARCH_TOOLS), None)
        can_code = CODE_TOOL in tools
        if not search and not can_code and not any(find_tool(tools, step["tool"]) for step in self.steps):
            return Reply(text=SIDE_TEXT)
        self.offered = max(self.offered, tools, key=len)
        self.results += results[len(self.results) :]
        done = len(results)
        self.is_finished = done >= len(self.steps)
        if self.is_finished:
            return Reply(text=LAST_TEXT)
        step = self.steps[done]
        self._requests[done] += 1
        if self._requests[done] > MOST_REQUESTS_PER_STEP:
            return Reply(text=f"The client keeps no result of {step['name']}.")

        tool, arguments = find_tool(tools, step["tool"]), step["arguments"]
        if not tool and can_code:
            tool, arguments = CODE_TOOL, CODE % (step["tool"], json.dumps(arguments))
        elif not tool and search:
            tool, arguments = self._search(step, search, tools, is_first=self._requests[done] == 1)
        if not tool:
            return Reply(text=f"The client does not offer {step['tool']}.")
        return Reply(Call(f"call_{next(self._ids)}", tool, arguments))

    @staticmethod
    def _search(step: dict, search: Tool, tools: list[Tool], is_first: bool) -> tuple[Tool, dict]:
        """Searches for a tool by its name, then calls it as found or searches by words."""
        name = f"mcp__replay__{step['tool']}"
        if is_first:
            return search, {"query": f"select:{name}"}
        for tool in tools:
            if tool.name == INDIRECT_TOOL:
                return tool, {"name": name, "arguments": step["arguments"]}
        return search, {"query": step.get("search", step["tool"].replace("_", " "))}

    def note(self, entry: dict) -> None:
        self._record.write(compact(entry) + "\n")
        self._record.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    """HTTP interface of the model of its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        model = {"id": "scripted", "object": "model", "type": "model", "display_name": "scripted"}
        self._send({"object": "list", "data": [model], "has_more": False})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._body()
        dialect = next((d for d in DIALECTS if d.path.search(path)), None)
        if not dialect:
            self.server.model.note({"path": path, "request": body})
            self._send({"input_tokens": 10, "totalTokens": 10})
            return
        reply = self.server.model.answer(dialect, body)
        if body.get("stream") or "stream" in path:
            self._stream(dialect, dialect.stream(body, reply))
        else:
            self._send(dialect.plain(body, reply))

    def _body(self) -> dict:
        if self.headers.get("Transfer-Encoding") != "chunked":
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        else:
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        try:
            body = json.loads(data)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _stream(self, dialect: Dialect, events: Iterable[dict]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {compact(event)}\n\n".encode())
        if isinstance(dialect, ChatCompletions):
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _send(self, answer: dict) -> None:
        data = compact(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Server of one model, on a port that the kernel chooses."""

    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = model


def main() -> None:
    script, record = map(pathlib.Path, sys.argv[1:])
    server = Server(Model(json.loads(script.read_text()), record))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
