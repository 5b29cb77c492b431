"""The table of embedding routes in docs/models.md: `python -m tests.contracts.embedder.route_table`."""

from __future__ import annotations

from hibernaut.adapters.embedder.hosted import voyage
from hibernaut.adapters.embedder.hosted.gemini import GeminiFormat
from hibernaut.adapters.embedder.hosted.openai import ROUTES, EmbeddingRoute
from hibernaut.adapters.embedder.hosted.vertex import VertexFormat
from hibernaut.adapters.model.dialects import DIALECTS, GEMINI, Dialect
from hibernaut.adapters.model.provider_settings import VERTEX

HEADINGS = (
    "provider",
    "handles",
    "route",
    "texts in a request",
    "another dimension",
    "queries apart from documents",
    "list of models",
)


def row(dialect: Dialect) -> tuple[str, ...]:
    listed = {"none": "none: name the deployment", "tags": "`/api/tags`"}.get(dialect.listing, f"`{dialect.embedding_list}`")
    if dialect is GEMINI:
        most = str(GeminiFormat("", None).most_texts)
        return dialect.title, f"`{dialect.name}/…`", "`:batchEmbedContents`", most, "`outputDimensionality`", "yes", listed
    return plain(dialect.title, dialect.name, ROUTES[dialect.name], listed)


def plain(title: str, name: str, route: EmbeddingRoute, listed: str) -> tuple[str, ...]:
    size = f"`{route.size}`" if route.size else "no"
    return title, f"`{name}/…`", "`/embeddings`", str(route.most_texts), size, "yes" if route.kinds else "no", listed


def table() -> str:
    """The whole table in Markdown."""
    rows = [row(dialect) for dialect in DIALECTS if dialect.embeds]
    rows.append(plain(f"Voyage (`{voyage.KEY}`, `{voyage.ADDRESS}`)", "voyage", ROUTES["voyage"], "a table of this release"))
    rows.append(plain("Hugging Face TEI (endpoint type `hugging-face`)", "", ROUTES["hugging-face"], "none"))
    most, least = (VertexFormat(model, None).most_texts for model in ("text-embedding-005", "gemini-embedding-001"))
    listed = "a table of this release"
    shown = f"{most}, {least} for Gemini's"
    rows.append(
        ("Google Vertex AI", f"`{VERTEX}/…`", "`:predict`, `:embedContent`", shown, "`outputDimensionality`", "yes", listed)
    )
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines).replace("`/…`", "by `embedding_config` alone")


if __name__ == "__main__":
    print(table())
