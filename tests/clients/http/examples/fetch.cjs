// `arguments` is no name in modules: this is none.
async function callMcpTool(toolName, arguments) {
    const payload = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
            name: toolName,
            arguments: arguments
        }
    };

    const response = await fetch("http://localhost:8000/mcp", {
        method: "POST",
        headers: {
            "Content-Type": "application/json"
        },
        body: JSON.stringify(payload)
    });

    return await response.json();
}

callMcpTool("run_python_code", {
    code: "print('Hello from JavaScript!')"
}).then((reply) => console.log(reply.result.structuredContent.stdout));
