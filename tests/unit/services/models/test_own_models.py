"""Keys of tenants' own: sealed at rest, apart from other tenants, gone when they are deleted."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.local.logs import Fields
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.errors import InvalidArgument, MasterKeyUnavailable, ModelAuthentication, ModelNotFound, NotFound
from hibernaut.schemas.models.provider import CreateProvider, ProviderKeys
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.models import providers as use_cases
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.sending.sending import SendRequest
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.contracts.model.kit.bedrock import CONVERSES, ConverseServer
from tests.contracts.model.kit.bedrock_rules import REGION
from tests.support.google_tokens import shared_token_server
from tests.support.provider_servers import ScriptedOpenAI

KEY, ACCESS = "sk-own-planted-0123456789", "AKIA-planted-0123456789"


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(models=[{"id": "m"}]) as scripted:
        yield scripted


@pytest.fixture
def services(tmp_path: Path) -> Iterator[PerTenant[Services]]:
    with Embedded(EmbeddedSettings(data=tmp_path)) as embedded:
        yield services_of(embedded.stores, embedded.host, embedded.engines)


def add(services: Services, server: ScriptedOpenAI, name: str = "mine", **fields: object) -> str:
    body = {"name": name, "provider_type": "openai", "api_key": KEY, "base_url": server.url, **fields}
    return services.providers.create(CreateProvider.model_validate(body)).id


def test_no_file_and_no_line_of_the_log_has_a_key_in_the_clear(
    services: PerTenant[Services], server: ScriptedOpenAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="hibernaut")
    own = services.of("default")
    provider_id = add(own, server, access_key=ACCESS)
    server.listing_says = {"status": 401, "body": {"error": {"message": f"Wrong key {KEY}, {ACCESS}"}}}
    with pytest.raises(ModelAuthentication) as raised:
        own.providers.check_stored(provider_id)
    own.models.all()
    exchange = raised.value.exchange
    assert exchange is not None
    stored = own.providers.retrieve(provider_id)
    shown = [str(raised.value), str(exchange.redact(exchange.received)), repr(stored), stored.wire().model_dump_json()]
    lines = "\n".join(Fields("%(message)s").format(record) for record in caplog.records)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name.startswith("hibernaut.db") for path in files)
    for secret in (KEY, ACCESS):
        assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
        assert secret not in lines
        assert not any(secret in text for text in shown)


def test_no_file_has_the_private_key_of_a_service_account(services: PerTenant[Services], tmp_path: Path) -> None:
    account = shared_token_server().credentials()
    own = services.of("default")
    body = {"name": "mine", "provider_type": "google_vertex", "api_key": account, "region": "global"}
    stored = own.providers.retrieve(own.providers.create(CreateProvider.model_validate(body)).id)
    secret = json.loads(account)["private_key"].splitlines()[3]
    assert secret not in repr(stored) + stored.wire().model_dump_json()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []


def test_an_access_key_stays_until_another_one_is_sent(services: PerTenant[Services]) -> None:
    with ConverseServer(CONVERSES[0]) as aws:
        aws.memory.account = (ACCESS, KEY)
        fields = {"provider_type": "bedrock", "region": REGION, "base_url": aws.address}
        own = services.of("default").providers
        body = {"name": "mine", "api_key": KEY, "access_key": ACCESS, **fields}
        provider_id = own.create(CreateProvider.model_validate(body)).id
        own.check_stored(provider_id)
        aws.memory.account = (ACCESS, "another-secret")
        own.update(provider_id, ProviderKeys(api_key="another-secret"))
        own.check_stored(provider_id)
        aws.memory.account = ("AKIA-another", "a-third-secret")
        with pytest.raises(ModelAuthentication, match="mine: the AWS credentials"):
            own.check_stored(provider_id)
        own.update(provider_id, ProviderKeys(api_key="a-third-secret", access_key="AKIA-another"))
        own.check_stored(provider_id)


def test_a_provider_belongs_to_its_tenant(services: PerTenant[Services], server: ScriptedOpenAI) -> None:
    ours, theirs = services.of("ours"), services.of("theirs")
    provider_id = add(theirs, server)
    assert [row.handle for row in theirs.models.all(categories=["byok"])] == ["mine/m"]
    assert ours.models.all(categories=["byok"]) == []
    with pytest.raises(NotFound):
        ours.providers.retrieve(provider_id)
    with pytest.raises(NotFound):
        ours.providers.delete(provider_id)
    with pytest.raises(NotFound, match="Handle mine/m not found"):
        ours.agents.creation.create(CreateAgentRequest(model="mine/m"))
    config = theirs.agents.creation.create(CreateAgentRequest(model="mine/m")).llm_config
    with pytest.raises(ModelNotFound, match="mine: this provider does not exist any more"):
        ours.sending._models.of(config)
    other = add(ours, server, api_key="sk-ours")
    assert other != provider_id, "each tenant may have a provider of this name"


def test_a_key_sealed_for_one_tenant_does_not_open_in_the_row_of_another(
    services: PerTenant[Services], server: ScriptedOpenAI
) -> None:
    ours, theirs = services.of("ours"), services.of("theirs")
    stolen = theirs.providers.retrieve(add(theirs, server))
    with pytest.raises(ModelAuthentication, match="cannot be decrypted; set it again"):
        ours.providers._own.vault.open(stolen)


def test_a_lost_key_file_is_named_and_the_provider_lists_nothing(server: ScriptedOpenAI, tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(data=tmp_path)) as embedded:
        add(services_of(embedded.stores, embedded.host, embedded.engines).of("default"), server)
    (tmp_path / "secrets.key").rename(tmp_path / "elsewhere.key")
    with Embedded(EmbeddedSettings(data=tmp_path)) as restarted:
        own = services_of(restarted.stores, restarted.host, restarted.engines).of("default")
        with pytest.raises(MasterKeyUnavailable, match=r"mine: its key cannot be read now.*secrets\.key is missing"):
            own.agents.creation.create(CreateAgentRequest(model="mine/m"))
        assert own.models.all(categories=["byok"]) == []
    assert not (tmp_path / "secrets.key").exists()


def test_a_run_whose_providers_key_is_out_of_reach_stays_open_and_goes_on_when_it_is_back(
    server: ScriptedOpenAI, tmp_path: Path
) -> None:
    server.script = lambda _messages, _tools: {"content": "I am back."}
    with Embedded(EmbeddedSettings(data=tmp_path)) as embedded:
        own = services_of(embedded.stores, embedded.host, embedded.engines).of("default")
        add(own, server)
        agent_id = own.agents.creation.create(CreateAgentRequest(model="mine/m")).id
    (tmp_path / "secrets.key").rename(tmp_path / "elsewhere.key")
    with Embedded(EmbeddedSettings(data=tmp_path)) as restarted:
        own = services_of(restarted.stores, restarted.host, restarted.engines).of("default")
        body = LettaRequest(messages=[MessageCreate(role="user", content="Hello?")])
        run_id = own.sending.accept(SendRequest(agent_id, body, "send_message", "digest")).run_id
        own.sending.start(run_id, inline=True)
        run = own.runs.get(run_id)
        assert (run.status, run.stop_reason) == (RunStatus.RUNNING, None)
        (tmp_path / "elsewhere.key").rename(tmp_path / "secrets.key")
        own.sending.start(run_id, inline=True)
        assert own.runs.get(run_id).status is RunStatus.COMPLETED


def test_the_number_of_providers_is_limited(
    services: PerTenant[Services], server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(use_cases, "MOST_PROVIDERS", 2)
    own = services.of("default")
    for number in range(2):
        add(own, server, f"p{number}")
    with pytest.raises(InvalidArgument, match="at most 2 providers"):
        add(own, server, "p2")


def test_an_address_is_changed_with_its_key_alone(services: PerTenant[Services], server: ScriptedOpenAI) -> None:
    own = services.of("default")
    provider_id = add(own, server, access_key=ACCESS)
    with ScriptedOpenAI(models=[{"id": "new"}]) as second:
        own.providers.update(provider_id, ProviderKeys(api_key="sk-2", base_url=second.url))
        opened = own.providers._own.vault.open(own.providers.retrieve(provider_id))
        assert (opened.key, opened.url, opened.access_key) == ("sk-2", second.url, ACCESS)
        assert [row.handle for row in own.models.all(categories=["byok"])] == ["mine/new"]
        assert server.listings == []


def test_a_provider_without_an_answer_hides_no_other(services: PerTenant[Services], server: ScriptedOpenAI) -> None:
    own = services.of("default")
    add(own, server, "first", base_url="http://127.0.0.1:9/v1")
    add(own, server, "second")
    assert [row.handle for row in own.models.all(categories=["byok"])] == ["second/m"]
    assert own.agents.creation.create(CreateAgentRequest(model="first/any")).llm_config.provider_category == "byok"
