"""What a house has beside the records of `records`: one thing of everything that the API makes, and copies of what lists show.

One agent of it was sent messages and has a folder of many files, one changes its memory, and some wait for an approval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Change
from hibernaut.rest.app import create_app
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.events.webhook import Delivery
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.runs.approval import PendingApproval, PendingCall
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.tools.call_record import RecordedCall, StoredCalls
from hibernaut.services.events.webhooks import MOST_WEBHOOKS
from hibernaut.services.models.providers import MOST_PROVIDERS
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.runs.runs import RunState
from hibernaut.wiring.embedded import Embedded
from tests.support.neighbours import Stock
from tests.support.waiting import eventually

TENANT = "default"
MOST_SERVERS, MOST_POLICIES, MOST_VARIABLES = 100, 200, 200
AT_ONCE = 60
"""Changes of one transaction."""
ASKING = ("asking", "waiting", "held")
REMEMBERING = ("learnt", *ASKING)
"""Agents that were asked to remember something: one does, the runs of the others wait for an approval."""


class Lived:
    """`app` admits the key `key`, which has the scope admin."""

    def __init__(self, embedded: Embedded, all_services: PerTenant[Services]) -> None:
        self._embedded = embedded
        self._services = all_services.of(TENANT)
        self._stores = embedded.stores.of(TENANT)
        self.key = embedded.access.keys_of(TENANT).create(CreateApiKey.model_validate({"scope": "admin", "name": "budgets"})).key
        self.app: FastAPI = create_app(all_services, access=embedded.access)
        self.ids: dict[str, str] = {}
        self._of: dict[str, dict[str, str]] = {}

    def fill(self, size: int) -> None:
        """One thing of everything, and `size` of what lists show, as far as a tenant may have so many."""
        with TestClient(self.app, base_url="http://localhost") as client:
            stock = Stock(client, self.key, "zebra tea")
            stock.fill()
            self.ids = stock.things | {"subject": stock.things["agent_id"], **self._made(stock)}
            self._of = {"lived": self.ids, **{name: self.ids | self._remembering(stock, name) for name in REMEMBERING}}
            eventually(lambda: self._erased(stock))
        self._write(self._copies(size))
        self._keys(size)
        for number in range(size - 1):
            self._services.blocks.update(self.ids["block_id"], BlockUpdate(value=f"zebra {number}"))

    def _made(self, stock: Stock) -> dict[str, str]:
        """What `Stock` does not make."""
        agent = stock.things["agent_id"]
        key = stock.request("POST", "/v1/api-keys", {"scope": "read", "name": "second"}).json()
        expires = (self._embedded.host.clock.now() + timedelta(days=1)).isoformat()
        policy = [{"type": "agent", "id": agent, "access": ["read_messages"]}]
        body = {"hostname": "https://a.example", "policy": policy, "expires_at": expires}
        stock.request("POST", "/v1/client-side-access-tokens", body)
        token = stock.request("GET", "/v1/client-side-access-tokens").json()["tokens"][0]["token"]
        stock.request("POST", f"/v1/templates/{stock.things['template_name']}/save", {"migrate_agents": True})
        stock.request("PATCH", f"/v1/agents/{agent}/tools/attach/{stock.things['tool_id']}")
        stock.request("PATCH", f"/v1/agents/{agent}/files/{stock.things['file_id']}/open")
        return {"key_id": key["id"], "token": token}

    def _erased(self, stock: Stock) -> bool:
        """Whether the erasure is over, which is begun in the background."""
        return bool(stock.request("GET", f"/v1/erasures/{self.ids['erasure_id']}").json()["state"] == "completed")

    def _remembering(self, stock: Stock, name: str) -> dict[str, str]:
        """An agent with a conversation, in which it was asked to remember something. Its calls need an approval if it is one of
        `ASKING`.
        """
        rules = [{"type": "requires_approval", "tool_name": "memory_insert"}] if name in ASKING else []
        body = {"name": name, "memory_blocks": [{"label": "human", "value": ""}], "tool_rules": rules}
        agent = stock.request("POST", "/v1/agents", body).json()["id"]
        conversation = stock.request("POST", f"/v1/conversations?agent_id={agent}", {}).json()["id"]
        for text in ("Hello", "How are you?", "Remember that I like tea"):
            path = f"/v1/conversations/{conversation}/messages"
            said = stock.request("POST", path, {"input": text, "streaming": False}).json()["messages"][-1]
        names = {"run_id": said["run_id"], "job_id": said["run_id"], "step_id": said["step_id"], "message_id": said["id"]}
        return {"agent_id": agent, "conversation_id": conversation, **names}

    def of(self, name: str) -> dict[str, str]:
        """The ids that fill the places in routes: those of the agent with everything ("lived"), or of one of `REMEMBERING`."""
        return self._of[name]

    def _write(self, changes: Iterable[Sequence[Change]]) -> None:
        pending: list[Change] = []
        for some in changes:
            pending += some
            if len(pending) > AT_ONCE:
                self._stores.writer.write(*pending)
                pending = []
        if pending:
            self._stores.writer.write(*pending)

    def _copies(self, size: int) -> Iterator[Sequence[Change]]:
        stores, ids, now, new = self._stores, self.ids, self._embedded.host.clock.now(), self._embedded.host.ids.new
        budgets, later = stores.budgets, int((now + timedelta(days=365)).timestamp() * 1000)
        step, batch, erasure = (
            _there(each)
            for each in (
                stores.steps.get(ids["step_id"]),
                stores.batches.get(ids["batch_id"]),
                stores.erasures.get(ids["erasure_id"]),
            )
        )
        template = _there(stores.templates.named(ids["template_name"]))
        budget, hook = _there(budgets.get(ids["agent_id"])), _there(stores.webhooks.get(ids["webhook_id"]))
        provider, server = _there(stores.providers.get(ids["provider_id"])), _there(stores.mcp_servers.get(ids["mcp_server_id"]))
        file, passage = (
            _there(stores.files.get(ids["file_id"])),
            stores.passages.get_many(ids["archive_id"], [ids["passage_id"]])[0],
        )
        document = _there(stores.templates.document(template.id, 1))
        for number in range(size):
            yield [stores.transactions._put_step(step.model_copy(update={"id": new("step"), "run_id": new("run")}))]
            yield [stores.call_records.put(StoredCalls(id=new("calls"), at=now, agent_id=ids["agent_id"], calls=[_CALL]))]
            yield stores.batches.create(batch.model_copy(update={"id": new("job")}), later, "t")
            yield stores.erasures.create(erasure.model_copy(update={"id": new("erasure")}), later, "t")[:2]
            name = f"{template.name}-{number}"
            yield stores.templates.create(
                template.model_copy(update={"id": new("template"), "name": name}), document.document, "t"
            )
            yield [budgets.put(budget.model_copy(update={"subject": new("agent")}))]
            event = {"id": new("evt"), "type": "run.finished"}
            delivery = Delivery(
                event_id=event["id"], webhook_id=hook.id, type="run.finished", state="dead", created_at=now, event=event
            )
            yield [stores.webhooks.put(delivery, now)]
            ids["event_id"] = event["id"]
            yield self._open_run(new("run"), new("message"))
            copied = file.model_copy(update={"id": new("file"), "name": f"{number}.txt", "original_name": f"{number}.txt"})
            yield stores.files.create(copied, later, "t")
            yield stores.passages.add(
                ids["archive_id"], [passage.model_copy(update={"id": new("passage"), "text": f"tea {number}"})]
            )
            if number < MOST_WEBHOOKS - 2:
                yield [stores.webhooks.create(hook.model_copy(update={"id": new("webhook")}), "t")]
            if number < MOST_PROVIDERS - 2:
                yield stores.providers.create(provider.model_copy(update={"id": new("provider"), "name": f"p{number}"}), "t")
            if number < MOST_SERVERS - 2:
                other = server.model_copy(update={"id": new("mcp_server"), "server_name": f"m{number}"})
                yield stores.mcp_servers.create(other, "t")
        policies = stores.tool_policies.get()
        more = [
            policies.policies[0].model_copy(update={"id": new("tool-policy"), "name": f"{number}"})
            for number in range(min(size, MOST_POLICIES - 2))
        ]
        yield [stores.tool_policies.change(policies, [*policies.policies, *more], "t")]

    def _keys(self, size: int) -> None:
        """Copies of the second key and of the token, which nobody has."""
        stores, new = self._embedded.stores, self._embedded.host.ids.new
        for mark, name in (("1", "key_id"), ("2", "token")):
            key = _there(stores.api_keys.get(TENANT, self.ids[name]))
            for number in range(size - 1):
                copied = key.model_copy(update={"id": new("key"), "digest": f"{mark}{number:063d}"})
                stores.writer.write(*stores.api_keys.create(copied, "t"))

    def _open_run(self, run_id: str, message_id: str) -> Sequence[Change]:
        """A run that asks for an approval, of an agent that is not there any more."""
        now, agent = self._embedded.host.clock.now(), self._embedded.host.ids.new("agent")
        run = StoredRun(
            id=run_id, agent_id=agent, status=RunStatus.RUNNING, created_at=now, options=RunOptions(max_steps=1), background=True
        )
        call = PendingCall(id="call_1", name="memory_insert", arguments="{}", held=True)
        record = PendingApproval(
            run_id=run_id, agent_id=agent, step_id=self.ids["step_id"], request_id=message_id, calls=[call], asked_at=now
        )
        return [*self._stores.runs.create(RunState(run), None), self._stores.approvals.create(record)]


_CALL = RecordedCall(tool="memory_insert", outcome="allowed", arguments_digest="0" * 64)


def _there(record: Any) -> Any:
    assert record is not None
    return record
