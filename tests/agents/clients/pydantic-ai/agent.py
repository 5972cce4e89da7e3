"""Agent of Pydantic AI."""

import asyncio
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main() -> None:
    provider = OpenAIProvider(base_url=f"{os.environ['MODEL_URL']}/v1", api_key="dummy")
    model = OpenAIChatModel(os.environ["MODEL"], provider=provider)
    server = MCPToolset(StdioTransport(sys.argv[1], sys.argv[2:]))
    result = await Agent(model, toolsets=[server]).run(os.environ["PROMPT"])
    print(result.output)


asyncio.run(main())
