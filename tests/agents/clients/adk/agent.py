"""Agent of Google's Agent Development Kit."""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters

os.environ |= {"GOOGLE_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": os.environ["MODEL_URL"]}


async def main() -> None:
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    tools = McpToolset(connection_params=StdioConnectionParams(server_params=parameters))
    agent = LlmAgent(name="agent", model="gemini-2.5-pro", tools=[tools])
    runner = InMemoryRunner(agent=agent, app_name="replay")
    session = await runner.session_service.create_session(app_name="replay", user_id="user")
    question = types.Content(role="user", parts=[types.Part(text=os.environ["PROMPT"])])
    events = runner.run_async(user_id="user", session_id=session.id, new_message=question)
    async for event in events:
        if event.is_final_response():
            print(event.content.parts[0].text)
    await tools.close()


asyncio.run(main())
