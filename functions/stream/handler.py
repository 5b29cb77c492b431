"""The REST API as a web server for the Lambda Web Adapter, which forwards each chunk of a response at once.

There is no handler: the adapter speaks Lambda's protocol, and `run.sh` starts a web server with the application of `app`.
"""

from __future__ import annotations

from fastapi import FastAPI

from functions.log import log
from hibernaut.wiring import aws


def app() -> FastAPI:
    """The application factory for the web server."""
    log()  # Configures logging before any module of the product logs.
    return aws.stream_app()
