"""The script of the child process: it handles one job from stdin, writes one reply to stdout, and exits.

A job is a line of JSON, followed by its bytes. The script first limits its own memory and time, because its input is untrusted.
It imports only what its job needs, because every job pays for the imports.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import warnings


def main() -> None:
    """Read a job and its data from stdin, and write the reply as JSON to stdout. The process limits itself to the job's memory
    and CPU.
    """
    source, sink = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # the output of a parser must not reach the reply
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
    """Set soft limits of bytes and CPU seconds; if the system supports none, the parent's deadline remains."""
    import resource

    for kind, amount in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (amount, resource.getrlimit(kind)[1]))


def parse(job: dict[str, str], data: bytes) -> dict[str, object]:
    """The text of a file as a reply. Raises: ValueError if it cannot be read, or unpacks to too much."""
    from hibernaut.adapters.files.parsers import PARSERS, longest_text

    most = longest_text(len(data))
    if job["work"] == "page":
        from hibernaut.adapters.files.web_pages import page_markdown

        text = page_markdown(data, job["address"])
    else:
        text = PARSERS[job["work"]](data)
    if len(text) > most:
        raise ValueError(f"The file unpacks to more than {most} characters of text.")
    return {"text": text.encode("utf-8", "replace").decode()}


def grep(job: dict[str, object], data: bytes) -> dict[str, object]:
    """The indices of the first matching lines as a reply, or the error of an invalid pattern."""
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
