"""The table of docs/models.md, generated from the dialects: `python -m tests.contracts.model.dialect_table`."""

from __future__ import annotations

from hibernaut.adapters.model.dialects import ANY, ANY_THOUGHTS, DIALECTS, Dialect

HEADINGS = (
    "provider", "handles", "key", "address", "forced tool choice", "reasoning goes back", "`reasoning_effort`", "`response_format`",
    "log probabilities", "strict tools", "most tools", "list of models",
)  # fmt: skip
LISTS = {"models": "`/models`", "tags": "`/api/tags`", "none": "none: name the deployment"}


def efforts(dialect: Dialect) -> str:
    some = " (some models)" if dialect.effort_models else ""
    return {
        "openai": "OpenAI's models",
        "any": ", ".join(f"`{each}`" for each in dialect.efforts) + some,
        "never": "no",
    }[dialect.effort]


def row(dialect: Dialect) -> tuple[str, ...]:
    forced = [name for name in ("required", "named") if name in dialect.choices]
    formats = [name for name in ("json_object", "json_schema") if name in dialect.takes]
    return (
        dialect.title,
        f"`{dialect.name}/…`",
        f"`{dialect.key}`",
        f"`{dialect.address}`" + (f": `{dialect.url}`" if dialect.url else ""),
        (" and ".join(forced) or "no") + ("" if dialect.thinking_choices is None else " (without reasoning)"),
        "as it came" if dialect.thoughts == ANY_THOUGHTS else ", ".join(f"`{name}`" for name in sorted(dialect.thoughts)) or "no",
        efforts(dialect),
        (", ".join(f"`{name}`" for name in formats) or "no") + ("" if dialect.format_with_tools else " (without tools)"),
        "yes" if "logprobs" in dialect.takes else "no",
        "yes" if "strict" in dialect.takes else "no",
        str(dialect.most_tools or "not published"),
        LISTS[dialect.listing],
    )


def table() -> str:
    """The whole table in Markdown."""
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *(row(dialect) for dialect in (*DIALECTS, ANY))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


if __name__ == "__main__":
    print(table())
