"""The REST face served over HTTP to the Lambda Web Adapter, which hands every chunk on as it comes.

There is no handler: the adapter speaks with Lambda, and `run.sh` starts a web server on what `app` makes.
"""

from __future__ import annotations

from fastapi import FastAPI

from functions.log import log
from hibernaut.wiring import aws


def app() -> FastAPI:
    """The app, for a server that makes it by itself."""
    log()  # Before the first line of any module of ours.
    return aws.stream_app()
