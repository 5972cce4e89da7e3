"""Agent of LlamaIndex."""

import asyncio
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main() -> None:
    client = BasicMCPClient(sys.argv[1], args=sys.argv[2:])
    tools = await McpToolSpec(client=client).to_tool_list_async()
    model = OpenAILike(
        model=os.environ["MODEL"],
        api_base=f"{os.environ['MODEL_URL']}/v1",
        api_key="dummy",
        is_chat_model=True,
        is_function_calling_model=True,
    )
    agent = FunctionAgent(tools=tools, llm=model, timeout=None)
    print(await agent.run(os.environ["PROMPT"], max_iterations=100))


asyncio.run(main())
