curl --silent --show-error http://localhost:8000/mcp \
    -H "Content-Type: application/json" \
    -d '{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": {
    "name": "run_python_code",
    "arguments": {
      "code": "print(2 + 4, \"from curl\")"
    }
  }
}'
