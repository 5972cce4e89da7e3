"""Agent of the OpenAI Agents SDK."""

import asyncio
import os
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{os.environ['MODEL_URL']}/v1", api_key="dummy")
    parameters = {"command": sys.argv[1], "args": sys.argv[2:]}
    async with MCPServerStdio(params=parameters, name="replay") as server:
        model = OpenAIResponsesModel(os.environ["MODEL"], client)
        agent = Agent(name="agent", model=model, mcp_servers=[server])
        result = await Runner.run(agent, os.environ["PROMPT"], max_turns=100)
    print(result.final_output)


asyncio.run(main())
