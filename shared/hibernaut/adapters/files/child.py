"""The script of the child process: one job on stdin, one reply on stdout, and then it is gone.

A job is a line of JSON, then its bytes. It limits its own memory and time first: what it reads was made by others. It imports nothing
that its job does not need, for every job pays for that.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import warnings


def main() -> None:
    source, sink = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what a parser prints must not reach the reply
    job = json.loads(source.readline())
    limit_itself(job["memory"], job["cpu"])
    sys.path.extend(entry for entry in job["path"] if entry not in sys.path)
    try:
        reply = grep(job, source.read()) if job["work"] == "grep" else parse(job, source.read())
    except ValueError as error:
        reply = {"unreadable": str(error)}
    except MemoryError:
        reply = {"unreadable": "The file needs too much memory to be read."}
    except RecursionError:
        reply = {"unreadable": "The file is nested too deeply to be read."}
    try:
        out = json.dumps(reply).encode()
    except MemoryError:
        out = b'{"unreadable": "The text of the file is too long."}'
    with os.fdopen(sink, "wb") as file:
        file.write(out)
    os._exit(0)


def limit_itself(memory: int, cpu: int) -> None:
    """Soft limits of bytes and of seconds of computing; where the system has none, the parent's deadline is left."""
    import resource

    for kind, amount in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (amount, resource.getrlimit(kind)[1]))


def parse(job: dict[str, str], data: bytes) -> dict[str, object]:
    from hibernaut.adapters.files.parsers import PARSERS, longest_text

    text, most = PARSERS[job["work"]](data), longest_text(len(data))
    if len(text) > most:
        raise ValueError(f"The file unpacks to more than {most} characters of text.")
    return {"text": text.encode("utf-8", "replace").decode()}


def grep(job: dict[str, object], data: bytes) -> dict[str, object]:
    warnings.simplefilter("ignore")
    try:
        search = re.compile(str(job["pattern"]), re.IGNORECASE | re.MULTILINE).search
    except (re.error, OverflowError, RecursionError) as error:
        return {"pattern": str(error) or type(error).__name__}
    found: list[int] = []
    for index, line in enumerate(data.decode("utf-8", "replace").split("\n")):
        if search(line):
            found.append(index)
            if len(found) == job["most"]:
                break
    return {"found": found}


if __name__ == "__main__":
    main()
