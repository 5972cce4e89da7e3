#!/bin/sh
# A wheel that holds the program, for pip and uv: PEP 427 says what is in it.
#
# usage: [PROGRAM=...] [HOST_PROGRAM=...] [OUT=...] [OWNER=...] sh packaging/wheel.sh
. "$(dirname "$0")/program.sh"
python3 - "$version" "$machine" "$about" "$license" "$program" "$out" "${owner:-trial}" "$glibc" <<'EOF'
import base64
import hashlib
import sys
import zipfile

version, machine, about, license, program, out, owner, glibc = sys.argv[1:]
# A static program runs with any C library.
libraries = [f"manylinux_{glibc.replace('.', '_')}"] if glibc else ["manylinux_2_17", "musllinux_1_1"]
tag = "py3-none-" + ".".join(f"{library}_{machine}" for library in libraries)
info = f"replay-{version}.dist-info"
metadata = f"""Metadata-Version: 2.1
Name: replay
Version: {version}
Summary: {about}
License: {license}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

<!-- mcp-name: io.github.{owner}/replay -->
{open("README.md").read()}"""
wheel = "Wheel-Version: 1.0\nGenerator: packaging/wheel.sh\nRoot-Is-Purelib: false\n" + "".join(
    f"Tag: py3-none-{platform}\n" for platform in tag.split("-")[2].split(".")
)
files = {
    f"replay-{version}.data/scripts/replay": (open(program, "rb").read(), 0o755),
    f"{info}/METADATA": (metadata.encode(), 0o644),
    f"{info}/WHEEL": (wheel.encode(), 0o644),
    f"{info}/licenses/LICENSE": (open("LICENSE", "rb").read(), 0o644),
}
record = ""
for name, (content, _) in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(content)}\n"
files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
with zipfile.ZipFile(f"{out}/replay-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, (content, mode) in files.items():
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
EOF
