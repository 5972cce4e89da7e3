#!/usr/bin/env python3
"""npm registry of the packages in a folder, on a port of the loopback that it prints."""

import base64
import glob
import hashlib
import http.server
import json
import sys
import tarfile
import urllib.parse


def find(name):
    """Returns manifest and archive of a package."""
    for file in glob.glob(f"{sys.argv[1]}/*.tgz"):
        with tarfile.open(file) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        if manifest["name"] == name:
            with open(file, "rb") as content:
                return manifest, content.read()
    return None, None


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = urllib.parse.unquote(self.path[1:])
        manifest, content = find(name.removesuffix(".tgz"))
        if manifest is None:
            self.send_error(404)
            return
        if not name.endswith(".tgz"):
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
            dist = {"tarball": f"http://{self.headers['Host']}/{name}.tgz", "integrity": integrity}
            version = manifest["version"]
            versions = {version: {**manifest, "dist": dist}}
            content = json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": versions}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
