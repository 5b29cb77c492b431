"""A server of this process, and the command line over it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from letta_client import Letta

from hibernaut.local.command import main
from tests.compat.conftest import Said, serving_embedded
from tests.support.provider_servers import ScriptedOpenAI


@dataclass(frozen=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Cli = Callable[..., Told]


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as running:
        yield running


@pytest.fixture
def said(provider: ScriptedOpenAI) -> Said:
    """What the model `openai/test-model` says next."""
    return Said(provider)


@pytest.fixture(scope="module")
def client(provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Letta]:
    """The SDK on the server."""
    with ExitStack() as running:
        served = running.enter_context(serving_embedded(tmp_path_factory.mktemp("data"), provider, embedding="none"))
        yield running.enter_context(Letta(base_url=served.url, api_key="any", max_retries=0))


@pytest.fixture
def cli(client: Letta, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command on the server, with these lines as its input."""

    def run(*arguments: str, typed: str = "", server: bool = True) -> Told:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        code = main([*arguments, *(["--url", str(client.base_url)] if server else [])])
        told = capsys.readouterr()
        return Told(code, told.out, told.err)

    return run
