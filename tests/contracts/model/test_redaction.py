"""No configured secret comes out of the catalogue: neither with a provider's error, nor with an address, nor with what would be
sent.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.provider_settings import ProviderSettings, redaction_of
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.domain.redaction import MARK, SHORTEST, Redaction, bare_address
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.errors import ModelBadRequest
from tests.support.provider_http import ScriptedServer
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.responses_server import ScriptedResponses
from tests.support.rows import Rows

KEY, PASSWORD = "pk_live_9f8e7d6c", "hush/hush!"
secret = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST, max_size=20)


@pytest.mark.parametrize(("wire", "scripted"), [("chat", ScriptedOpenAI), ("responses", ScriptedResponses)])
def test_an_error_that_repeats_the_key_or_the_addresss_password_does_not_show_them(
    wire: str, scripted: type[ScriptedServer]
) -> None:
    with scripted(models=[{"id": "gpt-9"}]) as server:
        url = server.url.replace("://", "://ann:hush%2Fhush%21@")
        catalogue = Catalogue(EnvironmentSecrets({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url, "OPENAI_WIRE": wire}))
        config = catalogue.config("openai/gpt-9")
        message = f"Incorrect: {KEY} at {url} ({PASSWORD})"
        server.says(status=400, body={"error": {"message": message}})
        with pytest.raises(ModelBadRequest) as raised:
            catalogue.of(config).complete(ModelRequest(config, "", [Rows().user(f"My key is {KEY}.")]))
        assert raised.value.detail.count(MARK) == 3
        assert not any(value in f"{raised.value} {raised.value.detail}" for value in (KEY, PASSWORD, "hush%2F"))
        exchange = raised.value.exchange
        assert exchange is not None
        bodies = str([exchange.redact(exchange.sent), exchange.redact(exchange.received)])
        assert bodies.count(MARK) == 4
        assert not any(value in bodies for value in (KEY, PASSWORD, "hush%2F"))
        asked = catalogue.of(config).payload(ModelRequest(config, "", [Rows().user(f"My key is {KEY}.")]))
        assert KEY not in str(asked)


def test_an_address_is_shown_without_its_password_and_still_found_by_it() -> None:
    with ScriptedOpenAI(models=[{"id": "gpt-9"}, {"id": "text-embedding-3-small"}]) as server:
        url = server.url.replace("://", "://ann:hush%2Fhush%21@")
        secrets = EnvironmentSecrets({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url})
        catalogue = Catalogue(secrets)
        offered = EmbedderCatalogue(secrets, default=DefaultEmbedding("openai/text-embedding-3-small"))
        shown = [*catalogue.list(), *catalogue.list_embeddings(), *offered.descriptions()]
        assert server.url in str(shown)
        assert "hush" not in f"{shown} {catalogue.providers()} {offered.default()}"
        config = catalogue.config("openai/gpt-9").model_copy(update={"handle": None, "provider_name": None})
        assert catalogue.of(config) is catalogue.of(catalogue.config("openai/gpt-9"))


@given(secret, st.text(max_size=20), st.text(max_size=20))
def test_a_secret_is_in_no_text_of_a_json_value(value: str, before: str, behind: str) -> None:
    redaction = Redaction([value], [None])
    text = f"{before}{value}{behind}"
    shown = redaction.json({text: [text, 1, None, {"a": text}]})
    if value not in MARK * 3:
        assert value not in str(shown).replace("\\\\", "\\") or value in f"{before}{MARK}{behind}"
    assert redaction.json({"a": ["b", 1.5, True]}) == {"a": ["b", 1.5, True]}


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(any_json, st.lists(st.text(min_size=SHORTEST, max_size=9), max_size=3), st.integers(0, 3))
def test_a_value_is_searched_as_a_whole_and_walked_only_where_a_secret_stands(value: object, secrets: list[str], at: int) -> None:
    redaction = Redaction(secrets)
    value = [value, {"deep": [f"<{each}>" for each in secrets[at:]]}]
    assert redaction.json(value) == redaction._walked(value)
    plain = {"a": ["no secret", 1]}
    assert Redaction(["s3cret-k3y"]).json(plain) is plain


@pytest.mark.parametrize(
    ("address", "shown"),
    [("http://a:b@h:1/v1", "http://h:1/v1"), ("https://h/v1", "https://h/v1"), ("", ""), ("http://[::1", "")],
)
def test_a_bare_address_has_neither_user_nor_password(address: str, shown: str) -> None:
    assert bare_address(address) == shown


def test_both_parts_of_an_access_key_are_removed_and_neither_is_printed() -> None:
    provider = ProviderSettings("own", "bedrock", "", "planted-secret-part", region="eu-central-1", access_key="AKIAPLANTEDNAME")
    redaction = redaction_of(EnvironmentSecrets({}), [provider])
    assert redaction.text("of AKIAPLANTEDNAME with planted-secret-part") == "of *** with ***"
    assert "planted" not in repr(provider).lower()
