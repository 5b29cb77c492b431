"""The deployed stack behind its gateway, for the console: requests need a key, a scripted model answers, and its clock can be
moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from hibernaut.adapters.model.prices.priced import PricedModel
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import Model
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.services.access.access import Access
from hibernaut.wiring.access import DeployedStack, access_to_stack
from tests.browser.chromium import PATIENCE
from tests.browser.console import Director
from tests.support.clocks import LaterClock
from tests.support.scripted_model import ScriptedModels
from tests.workflows.deployment import Deployment

MODEL = "openai/gpt-4o-mini"
"""The default model of the deployment: one whose price is known. The scripted model answers in its place."""


@dataclass(frozen=True)
class Gateway:
    """`url`: the gateway's address. `access`: creates keys as the command line does."""

    url: str
    access: Access
    clock: LaterClock
    director: Director

    def key(self, scope: str = "write", **fields: Any) -> str:
        """A new key of the tenant `default`."""
        return self.access.keys_of("default").create(CreateApiKey.model_validate({"scope": scope, **fields})).key

    @contextmanager
    def client(self) -> Iterator[Api]:
        """A program with a key of the scope `admin`."""
        headers = {"authorization": f"Bearer {self.key('admin')}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE) as http:
            yield Api(http)


@dataclass(frozen=True)
class Api:
    """A client of the public API."""

    http: httpx.Client

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer that succeeded."""
        answer = self.http.request(method, f"/v1/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def agent(self, name: str = "guide", **fields: Any) -> str:
        """A new agent with two blocks; its id."""
        blocks = [{"label": "persona", "value": "I am a guide."}, {"label": "human", "value": "Nothing is known."}]
        return str(self.ask("POST", "agents/", {"name": name, "memory_blocks": blocks, **fields})["id"])


class _PricedModels(ScriptedModels):
    def of(self, config: LLMConfig) -> Model:
        return PricedModel(super().of(config), "openai", None)

    def default_handle(self) -> str:
        return MODEL


class _Directed(Deployment):
    """A deployment whose model is told what to say by a director."""

    def __init__(self, aws: OfflineAws, director: Director) -> None:
        super().__init__(aws)
        self.models = _PricedModels(lambda request, number: director(request, number))
        self.outside = self.composition()
        self.replace_environments()
        self.drive_for_callers()


@contextmanager
def deployed() -> Iterator[Gateway]:
    """The synthesized stack with its gateway on a port of this machine. Its change stream is delivered in the background."""
    director = Director()
    with OfflineAws(variables={"HIBERNAUT_KEYS": "required"}) as aws:
        deployment = _Directed(aws, director)
        aws.deliver_in_background()
        outputs = aws.stack.outputs
        stack = DeployedStack("dev", *(outputs[name] for name in ("TableName", "BucketName", "SecretsKeyArn")))
        yield Gateway(aws.url, access_to_stack(stack), deployment.clock, director)
        aws.wait_for_all()
