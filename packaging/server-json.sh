#!/bin/sh
# What the MCP registry is told: server.json. The packages must have been published before.
#
# usage: [OUT=...] OWNER=... sh packaging/server-json.sh
. "$(dirname "$0")/common.sh"
: "${owner:?is who publishes it, in small letters}"
arguments='[
        { "type": "positional", "value": "--mcp-server" },
        { "type": "named", "name": "--allow", "value": "{directory}:rw", "variables": {
          "directory": { "description": "A directory that the agent may change", "format": "filepath", "isRequired": true } } }
      ]'
package() {
    cat <<EOF
    {
      "registryType": "$1",
      "identifier": "$2",
      "version": "$version",
      "transport": { "type": "stdio" },
      "packageArguments": $arguments
    }
EOF
}
cat >"$out/server.json" <<EOF
{
  "\$schema": "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json",
  "name": "io.github.$owner/replay",
  "description": "$about",
  "version": "$version",
  "repository": { "url": "https://github.com/$owner/replay", "source": "github" },
  "packages": [
$(package npm "@$owner/replay"),
$(package pypi replay)
  ]
}
EOF
