"""The built-in tools that reach outside: `web_search`, `fetch_webpage` and `run_code` (RT 5.7).

The caller has claimed the call: a search costs money, a page counts its requests, and code may have any effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict

from hibernaut.domain.files.file_texts import FileKind, Unreadable, kind_of
from hibernaut.domain.files.text_encodings import in_web_encoding, web_text
from hibernaut.domain.tools import code_runs
from hibernaut.domain.tools.builtin.builtin_online_schemas import UNAVAILABLE
from hibernaut.domain.tools.time_limits import seconds_of
from hibernaut.domain.tools.tool_returns import clip
from hibernaut.domain.turn.actor import Call
from hibernaut.domain.turn.code_tools import tools_for_code
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome, ToolRunner
from hibernaut.ports.tools.web import WebFailure, WebPage
from hibernaut.ports.tools.web_search import EXA_KEY, SearchFailure, WebQuery, WebResult
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import SecretsUnavailable, UnsupportedMedia
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.store.stores import TenantStores

PAGE_SECONDS = 20.0
"""The time limit of one page in seconds, for redirects, download and extraction together."""
SEARCH_SECONDS = 30.0
"""The time limit of one search in seconds."""
MOST_BYTES = 10_000_000
"""The maximum number of bytes that are read of one page."""
MOST_RESULTS = 100


class OnlineTools:
    """Performs calls of the built-in tools that reach outside."""

    def __init__(self, stores: TenantStores, host: Host, runner: ToolRunner, limits: ToolLimits) -> None:
        self._tenant = stores.tenant
        self._secrets = stores.secrets
        self._web = host.web
        self._search = host.web_search
        self._reader = host.reader
        self._clock = host.clock
        self._runner = runner
        self._limits = limits

    def perform(self, work: StepWork, call: Call, limit: int) -> ClaimedResult:
        """Perform one call; `limit` is the longest return in characters. Invalid arguments and failures outside are error
        results.

        Raises: OSError if code or a parser cannot be started.
        """
        if call.name in UNAVAILABLE:
            return _failed(UNAVAILABLE[call.name])
        performers: Mapping[str, Callable[[StepWork, Call], ClaimedResult]] = {
            "fetch_webpage": self._page,
            "web_search": self._found,
            "run_code": self._ran,
        }
        result = performers[call.name](work, call)
        if isinstance(result.value, str):
            result.value = clip(result.value, limit)
        return result

    # pages

    def _page(self, work: StepWork, call: Call) -> ClaimedResult:  # noqa: ARG002 - as its siblings
        url = call.args.get("url")
        if not isinstance(url, str) or not url.strip():
            return _failed("`url` must be the address of a page, with http:// or https://.")
        try:
            return _succeeded(self._fetched(url.strip()))
        except (WebFailure, Unreadable) as failure:
            return _failed(f"The page could not be read: {str(failure).rstrip('.')}.")

    def _fetched(self, url: str) -> str:
        """The text of a page. Raises: WebFailure, Unreadable, OSError."""
        deadline = self._clock.monotonic() + PAGE_SECONDS
        page = self._web.page(url, seconds=PAGE_SECONDS, most=MOST_BYTES)
        if page.status >= 400:
            raise WebFailure(f"the other side answered {page.status}")
        text = self._text(page, max(1.0, deadline - self._clock.monotonic()))
        if not text.strip():
            raise WebFailure("it holds no text")
        return f"{text}\n\n[The page is longer than {MOST_BYTES} bytes; this is its beginning.]" if page.truncated else text

    def _text(self, page: WebPage, seconds: float) -> str:
        try:
            kind, _ = kind_of("", page.content_type or "text/html")
        except UnsupportedMedia:
            raise WebFailure(f"it is no text ({page.content_type[:100]})") from None
        match kind:
            case FileKind.TEXT:
                return web_text(page.data, _encoding(page))
            case FileKind.HTML:
                return self._reader.text(_in_utf8(page), FileKind.PAGE, seconds=seconds, address=page.url)
            case _:
                return self._reader.text(page.data, kind, seconds=seconds)

    # searches

    def _found(self, work: StepWork, call: Call) -> ClaimedResult:
        text = call.args.get("query")
        if not isinstance(text, str) or not text.strip():
            return _failed(_in_json({"query": text if isinstance(text, str) else "", "error": "Query cannot be empty"}))
        own = [secret for secret in work.agent.secrets if secret.key == EXA_KEY]
        key = self._secrets.values(work.agent.id, own).get(EXA_KEY)
        try:
            found = self._search.search(_query(text.strip(), call.args), key, seconds=SEARCH_SECONDS)
        except (SearchFailure, SecretsUnavailable, ValueError) as failure:
            return _failed(_in_json({"query": text, "error": f"Search failed: {failure}"}))
        results: JsonObject = {"query": text, "results": [_shown(result) for result in found.results]}
        if found.ignored:
            results["ignored_arguments"] = list(found.ignored)
        return _succeeded(_in_json(results))

    # code

    def _ran(self, work: StepWork, call: Call) -> ClaimedResult:
        code, language_name = call.args.get("code"), call.args.get("language", "python")
        if not isinstance(code, str) or not code.strip():
            return _failed("`code` must be the program to run.")
        language = code_runs.LANGUAGES.get(language_name.lower()) if isinstance(language_name, str) else None
        if language is None:
            return _failed(f"`language` must be python, js or ts on this server, not {language_name!r}.")
        outcome = self._runner.run(self._job(work, code, language))
        value = outcome.value
        if outcome.status == "error" or not isinstance(value, dict):
            return _failed(code_runs.code_return([], outcome.stdout, outcome.stderr, outcome.error or _lost(outcome)))
        results = value.get("results")
        parts = results if isinstance(results, list) else []
        return _succeeded(code_runs.code_return(parts, outcome.stdout, outcome.stderr, value.get("error")))

    def _job(self, work: StepWork, code: str, language: code_runs.Language) -> ToolJob:
        """The program as a job. It gets none of the agent's secrets: the model that wrote it may not read them."""
        turn = work.turn
        tools = tools_for_code(turn.actor, turn.history, turn.last_return)
        own = turn.actor.tool(code_runs.FUNCTION)
        python = language == "python"
        sources = [tool.source_code for tool in tools if tool.source_code]
        return ToolJob(
            name=code_runs.FUNCTION,
            source_code=code_runs.PYTHON if python else code_runs.JAVASCRIPT,
            args={"code": code, "sources": sources} if python else {"code": code, "typed": language == "ts"},
            json_schema=None if python else code_runs.SCHEMA,
            source_type="python" if python else "typescript",
            environment={"LETTA_AGENT_ID": work.agent.id},
            agent_id=work.agent.id,
            tenant=self._tenant,
            timeout=seconds_of(own.metadata_ if own is not None else None, self._limits.timeout),
            memory=self._limits.memory,
        )


def _encoding(page: WebPage) -> str:
    """The encoding that the page's header names; an empty text if it names none."""
    for part in page.content_type.split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip(" \"'")
    return ""


def _in_utf8(page: WebPage) -> bytes:
    """The page in UTF-8, if its header names another encoding; a page may name one itself, which its parser knows."""
    text = in_web_encoding(page.data, _encoding(page))
    return page.data if text is None else text.encode("utf-8", "replace")


def _query(text: str, args: JsonObject) -> WebQuery:
    """Raises: ValueError, with what is expected."""
    number = args.get("num_results", 10)
    if not isinstance(number, int | float) or isinstance(number, bool) or not 1 <= number <= MOST_RESULTS:
        raise ValueError(f"num_results must be a number from 1 to {MOST_RESULTS}")
    return WebQuery(
        text,
        int(number),
        _optional(args, "category"),
        bool(args.get("include_text")),
        _texts(args, "include_domains"),
        _texts(args, "exclude_domains"),
        _optional(args, "start_published_date"),
        _optional(args, "end_published_date"),
        _optional(args, "user_location"),
    )


def _optional(args: JsonObject, name: str) -> str | None:
    value = args.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be a text")
    return value or None


def _texts(args: JsonObject, name: str) -> list[str]:
    value = args.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of texts")
    return value


def _shown(result: WebResult) -> JsonObject:
    """A result in V1's form: the fields of every page, and the text, highlights and summary if they exist."""
    fields = asdict(result)
    header = {"title": result.title, "url": result.url, "published_date": result.published, "author": result.author}
    return {**header, **{name: fields[name] for name in ("text", "highlights", "summary") if fields[name]}}


def _lost(outcome: ToolOutcome) -> str:
    return f"the program returned something else than its results: {str(outcome.value)[:200]}"


def _in_json(value: JsonObject) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _succeeded(text: str) -> ClaimedResult:
    return ClaimedResult(status="success", value=text)


def _failed(text: str) -> ClaimedResult:
    return ClaimedResult(status="error", error=text)
