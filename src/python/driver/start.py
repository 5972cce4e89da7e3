"""First script of a session's interpreter: reports that it is up, then reads the rest of the driver.

Early requests wait in the socket, so no cell begins before the whole driver is loaded. Older
interpreters read this script too, and must be able to parse it up to the version check.
"""

import sys

if sys.version_info < (3, 8):
    sys.exit("it is Python " + sys.version.split()[0] + ", and 3.8 or newer is needed")

# Do not import a `json.py` of the project. Cells may mean it: the path entry is restored at the
# end.
FIRST = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[:len(FIRST)]

import builtins
import os

try:
    # The C part of `json`: importing the whole module takes longer.
    from _json import encode_basestring_ascii as QUOTE
except ImportError:
    # Another interpreter than CPython.
    from json.encoder import encode_basestring_ascii as QUOTE

VERSION = ".".join(map(str, sys.version_info[:3]))
READY = (("event", "ready"), ("version", VERSION), ("executable", sys.executable), ("prefix", sys.prefix))
# Path bytes that are no valid text have no JSON form.
TEXTS = [(name, (text or "").encode("utf-8", "backslashreplace").decode()) for name, text in READY]
LINE = "{%s,\"pid\":%d}\n" % (",".join("%s:%s" % (QUOTE(name), QUOTE(text)) for name, text in TEXTS), os.getpid())
os.write(0, LINE.encode())
# The driver removes frames with this file name from tracebacks.
SOURCE, QUESTIONS, ADOPTION = sys.argv[1:4]
exec(compile(SOURCE, "<replay>", "exec"),
     {"__name__": "<replay>", "__builtins__": dict(vars(builtins)), "FIRST": FIRST, "QUOTE": QUOTE,
      "QUESTIONS": QUESTIONS, "ADOPTION": ADOPTION})
