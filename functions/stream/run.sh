#!/bin/bash
# What the Web Adapter's wrapper starts in place of a handler. One request comes at a time, from this machine alone.
export PYTHONPATH="$LAMBDA_TASK_ROOT:/opt/python:$LAMBDA_RUNTIME_DIR"
exec python3 -m uvicorn --factory functions.stream.handler:app --host 127.0.0.1 --port "$AWS_LWA_PORT" --no-access-log --timeout-keep-alive 30
