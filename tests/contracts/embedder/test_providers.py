"""Each provider's embedding route, as a server that enforces its documented rules sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.embedder.hosted.openai import ROUTES
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.domain.models.embedding_models import known
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from tests.contracts.embedder.providers_kit import CASES, KEY, TEI, Case, RuledServer
from tests.contracts.embedder.route_table import table
from tests.contracts.model.test_catalogue import Kept

SECRET = "nobody may read this"


class Bench:
    """A provider's server, and the catalogue that is configured for it."""

    def __init__(self, case: Case, server: RuledServer) -> None:
        self.case, self.server = case, server
        self.catalogue = self.configured(KEY)

    def configured(self, key: str) -> EmbedderCatalogue:
        return EmbedderCatalogue(
            Kept(**self.case.settings(self.server.address, key)),
            default=DefaultEmbedding(self.case.handle, self.case.dimension),
        )

    def embedder(self, catalogue: EmbedderCatalogue | None = None, batch: int = 2048) -> Embedder:
        catalogue = catalogue or self.catalogue
        config = catalogue.default()
        assert config is not None
        assert (config.handle, config.embedding_dim) == (self.case.handle, self.case.dimension)
        made = catalogue.of(config.model_copy(update={"batch_size": batch}))
        assert made is not None
        return made


@pytest.fixture(params=CASES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    case = CASES[request.param]
    with RuledServer(case.rules) as server:
        yield Bench(case, server)


def test_documents_and_queries_have_vectors_of_unit_norm(bench: Bench) -> None:
    embedder = bench.embedder()
    for vector in [*embedder.embed(["one", "two words"]), *embedder.embed(["a question"], query=True)]:
        assert len(vector) == bench.case.dimension
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)


def test_as_many_texts_as_there_are_go_in_requests_of_the_size_that_the_provider_takes(bench: Bench) -> None:
    texts = [f"text number {number}" for number in range(bench.case.many)]
    found = bench.embedder().embed(texts)
    assert len(found) == len(texts)
    assert len(bench.server.asked) > 1
    some = slice(None, None, len(texts) // 3)
    assert found[some] == [bench.embedder().embed([text])[0] for text in texts[some]]


def test_texts_that_are_long_together_are_divided_by_their_tokens(bench: Bench) -> None:
    embedder = bench.embedder()
    text = "several words of a long document " * 2_000
    assert len(embedder.embed([f"{number} {text}" for number in range(40)])) == 40


def test_a_text_beyond_the_models_limit_is_cut_and_not_refused(bench: Bench) -> None:
    embedder = bench.embedder()
    [vector] = embedder.embed(["many words stand here " * 50_000])
    assert len(vector) == bench.case.dimension
    assert len(bench.server.asked) == 1


@pytest.mark.parametrize("text", ["", "  \n", "\0", "\ud800 half", "中文"])
def test_a_text_that_providers_refuse_is_sent_in_a_form_that_they_take(bench: Bench, text: str) -> None:
    assert len(bench.embedder().embed([text, "ordinary words"])) == 2


def test_a_wrong_key_is_no_fault_of_the_texts_and_is_not_tried_again(bench: Bench) -> None:
    embedder = bench.embedder(bench.configured("sk-another-secret"))
    with pytest.raises(EmbedderFailed) as failed:
        embedder.embed([SECRET])
    assert (failed.value.retryable, failed.value.of_texts) == (False, False)
    assert not any(word in str(failed.value) for word in (SECRET, KEY, "sk-another"))


@pytest.mark.parametrize("case", ["openai", "voyage", "gemini"])
@pytest.mark.parametrize("key", ["sk-planted\n", "sk-planted\r\nx-y: z", "sk-pl\u00e4nted"])
def test_a_key_that_no_header_can_hold_is_said_and_not_tried_again(case: str, key: str) -> None:
    with RuledServer(CASES[case].rules) as server:
        bench = Bench(CASES[case], server)
        embedder = bench.embedder(bench.configured(key))
        with pytest.raises(EmbedderFailed, match="the API key contains a line break or another character") as failed:
            embedder.embed(["one"])
        assert (failed.value.retryable, failed.value.of_texts, server.asked) == (False, False, [])
        assert "sk-pl" not in str(failed.value) + str(failed.value.__cause__)


def test_the_row_of_the_list_names_provider_type_address_and_dimension(bench: Bench) -> None:
    row = bench.catalogue.descriptions()[0]
    assert row.handle == bench.case.handle
    assert row.handle == f"{row.provider_name}/{row.embedding_model}"
    assert (row.embedding_dim, (row.embedding_endpoint or "").startswith(bench.server.address)) == (bench.case.dimension, True)


def test_a_key_goes_to_its_own_providers_address_alone(bench: Bench) -> None:
    with RuledServer(bench.case.rules) as stranger:
        config = bench.catalogue.default()
        assert config is not None
        away = config.model_copy(update={"embedding_endpoint": f"{stranger.address}/v1", "handle": None})
        assert bench.catalogue.of(away) is None
        moved = config.model_copy(update={"embedding_endpoint": f"{stranger.address}/v1"})
        embedder = bench.catalogue.of(moved)
        assert embedder is not None
        embedder.embed(["one"])
        assert (len(stranger.asked), len(bench.server.asked)) == (0, 1)


@pytest.mark.parametrize(
    ("case", "document", "query"),
    [
        ("voyage", "document", "query"),
        ("gemini", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"),
        ("vertex", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"),
        ("gemini-2", "title: ", "task: search"),
        ("vertex-2", "title: ", "task: search"),
    ],
)
def test_a_query_is_embedded_as_a_query_where_the_provider_tells_them_apart(case: str, document: str, query: str) -> None:
    with RuledServer(CASES[case].rules) as server:
        embedder = Bench(CASES[case], server).embedder()
        one, other = embedder.embed(["same words"]), embedder.embed(["same words"], query=True)
        assert one != other
        assert [marker in str(asked.body) for asked, marker in zip(server.asked, (document, query), strict=True)] == [True, True]


def test_a_server_of_hugging_faces_type_is_asked_in_openais_format_without_a_key() -> None:
    def rules(asked: object) -> dict[str, object]:
        headers = {**asked.headers, "authorization": f"Bearer {KEY}"}  # type: ignore[attr-defined]
        assert "authorization" not in asked.headers  # type: ignore[attr-defined]
        return TEI(type(asked)(asked.path, headers, asked.body))  # type: ignore[attr-defined, call-arg, arg-type]

    with RuledServer(rules) as server:  # type: ignore[arg-type]
        config = EmbeddingConfig(
            embedding_endpoint_type="hugging-face",
            embedding_endpoint=f"{server.address}/v1",
            embedding_model="BAAI/bge-small-en-v1.5",
            embedding_dim=384,
            batch_size=1024,
        )
        embedder = EmbedderCatalogue(Kept(OPENAI_API_KEY="sk-own"), dial=lambda: Door(THIS_MACHINE).client(5)).of(config)
        assert embedder is not None
        assert len(embedder.embed([f"text {number}" for number in range(50)])) == 50
        assert len(server.asked) == 2


@pytest.mark.parametrize(("handle", "size"), [("voyage/voyage-4", 300), ("voyage/voyage-law-2", 512), ("voyage/voyage-9", None)])
def test_a_default_dimension_that_the_model_cannot_have_is_refused_at_the_start(
    handle: str, size: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = EmbedderCatalogue(Kept(VOYAGE_API_KEY=KEY), default=DefaultEmbedding(handle, size))
    assert catalogue.default() is None
    assert len(caplog.records) == 1


def test_a_models_name_cannot_leave_its_path() -> None:
    with RuledServer(CASES["gemini"].rules) as server:
        kept = Kept(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=server.address)
        config = EmbeddingConfig(
            embedding_endpoint_type="google_ai", embedding_model="../x?y", embedding_dim=3072, handle="google_ai/../x?y"
        )
        embedder = EmbedderCatalogue(kept).of(config)
        assert embedder is not None
        embedder.embed(["one"])
        assert server.asked[0].path == "/v1beta/models/..%2Fx%3Fy:batchEmbedContents"


def test_voyages_models_are_listed_where_its_key_is() -> None:
    rows = EmbedderCatalogue(Kept(VOYAGE_API_KEY=KEY), default=DefaultEmbedding("voyage/voyage-4", 512)).descriptions()
    assert (rows[0].handle, rows[0].embedding_dim) == ("voyage/voyage-4", 512)
    handles = [row.handle for row in rows]
    assert len(handles) == len(set(handles))
    assert {"voyage/voyage-4-large", "voyage/voyage-code-3"} <= set(handles)


def test_a_deployment_of_azure_with_a_name_of_its_own_has_a_space_of_its_own() -> None:
    kept = Kept(AZURE_API_KEY=KEY, AZURE_BASE_URL="http://127.0.0.1:1", OPENAI_API_KEY=KEY)
    catalogue = EmbedderCatalogue(kept)
    configs = [
        EmbeddingConfig(embedding_endpoint_type=kind, embedding_model="ours", embedding_dim=8, handle=f"{kind}/ours")
        for kind in ("azure", "openai")
    ]
    made = [catalogue.of(config) for config in configs]
    assert all(made)
    assert len({each.space for each in made if each}) == 2


def test_the_page_shows_the_table_of_routes() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "models.md"
    assert table() in page.read_text(encoding="utf-8")


def test_every_provider_that_embeds_has_a_route_and_its_models_facts() -> None:
    embedding = {dialect.name for dialect in DIALECTS if dialect.embeds}
    assert embedding | {"voyage", "hugging-face"} == set(ROUTES)
    assert all(known(case.handle.partition("/")[2]) for case in CASES.values())
