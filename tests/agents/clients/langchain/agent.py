"""Agent of LangGraph with the adapters of LangChain for MCP."""

import asyncio
import os
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


async def main() -> None:
    server = {"transport": "stdio", "command": sys.argv[1], "args": sys.argv[2:]}
    url = f"{os.environ['MODEL_URL']}/v1"
    model = ChatOpenAI(model=os.environ["MODEL"], base_url=url, api_key="dummy")
    async with MultiServerMCPClient({"replay": server}).session("replay") as session:
        agent = create_react_agent(model, await load_mcp_tools(session))
        question = {"messages": [("user", os.environ["PROMPT"])]}
        answer = await agent.ainvoke(question, {"recursion_limit": 100})
    print(answer["messages"][-1].content)


asyncio.run(main())
