"""What an interpreter of a session reads first: it says that it is there, and reads the rest while that is heard of.

A request that comes meanwhile waits in the socket, so no cell begins before all of the driver is there. Older interpreters
read this too, and have to get as far as the line that says so.
"""

import sys

if sys.version_info < (3, 8):
    sys.exit("it is Python " + sys.version.split()[0] + ", and 3.8 or newer is needed")

# A `json.py` of the project is not what is meant here. It is what cells mean: its place comes back at the end.
FIRST = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[:len(FIRST)]

import builtins
import os

try:
    # What `json` is made of: the module itself takes longer than most to import.
    from _json import encode_basestring_ascii as QUOTE
except ImportError:
    # Another interpreter than CPython.
    from json.encoder import encode_basestring_ascii as QUOTE

VERSION = ".".join(map(str, sys.version_info[:3]))
READY = (("event", "ready"), ("version", VERSION), ("executable", sys.executable), ("prefix", sys.prefix))
# Bytes of a path that are no text have no JSON.
TEXTS = [(name, (text or "").encode("utf-8", "backslashreplace").decode()) for name, text in READY]
LINE = "{%s,\"pid\":%d}\n" % (",".join("%s:%s" % (QUOTE(name), QUOTE(text)) for name, text in TEXTS), os.getpid())
os.write(0, LINE.encode())
# The name is the one that the driver takes its own frames out of tracebacks by.
SOURCE, QUESTIONS, ADOPTION = sys.argv[1:4]
exec(compile(SOURCE, "<replay>", "exec"),
     {"__name__": "<replay>", "__builtins__": dict(vars(builtins)), "FIRST": FIRST, "QUOTE": QUOTE,
      "QUESTIONS": QUESTIONS, "ADOPTION": ADOPTION})
