"""Whether a request whose otids, or whose body, name an earlier run is that run's request again, or a new one.

The run has a digest of its whole request, so that the answer does not depend on how far the run has come. Only where the digests
differ are messages compared one by one: a client may repeat some of the messages of a request.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import MessageCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.turns.inputs import RequestInputs, content_of
from hibernaut.store.runs.idempotency import KnownRequest, RequestIdentity, partly_new
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from hibernaut.store.stores import TenantStores


class ResentRequests:
    """Compares requests with the runs that their otids name."""

    def __init__(self, stores: TenantStores) -> None:
        self._runs = stores.runs
        self._idempotency = stores.idempotency
        self._conversations = stores.conversations

    def is_new(self, inputs: RequestInputs, earlier: KnownRequest, retry: int) -> bool:
        """Whether the request is a new one: it says something else than the run's, or it answers an approval again whose run was
        cancelled. `retry`: the client's count of re-sends.

        Raises: InvalidArgument if some of its messages are the run's and others are new.
        """
        if earlier.run_id is None or not (earlier.runs or inputs.answer):
            return False
        state = self._runs.get(earlier.run_id)
        cancelled = state is not None and state.run.status is RunStatus.CANCELLED
        answers_again = inputs.answer is not None and retry == 0 and cancelled
        if not earlier.runs:
            return answers_again
        if state is None or state.run.input_digest is None:  # a run that was deleted, or of an older release
            if not all(otid in earlier.runs for otid in inputs.otids[: inputs.first]):
                raise partly_new(next(iter(earlier.runs)), earlier.run_id)
            same = state is None or _says_the_same_page(inputs, self._rows(state.run, inputs.first))
            return answers_again or not same
        if state.run.input_digest == inputs.digest():
            return answers_again
        differs = self._differs(inputs, earlier.runs, state.run)
        return answers_again or inputs.answer is not None or differs

    def with_waiting(self, head: Head, inputs: RequestInputs, earlier: KnownRequest, identity: RequestIdentity) -> KnownRequest:
        """What is known of the request, with those of its messages that wait on their runs: they have no marks yet.

        `identity`: what `earlier` was found by. A long request is looked up again after the runs: a step may have moved messages
        from their run to the log meanwhile, and its transaction checks no marks but those of its first page.
        """
        unknown = {otid for otid in inputs.otids if otid and otid not in earlier.runs}
        if not unknown or (earlier.run_id is not None and not earlier.runs):
            return earlier
        run_ids = [head.owner] if head.owner is not None else []
        if head.waiting:
            run_ids += self._conversations.long_in_queue(head.id)
        states = self._runs.get_many(run_ids) if run_ids else {}
        waiting = {row.otid: state.run.id for state in states.values() for row in state.run.input if row.otid in unknown}
        if not waiting and len(inputs.messages) > INPUT_PAGE:
            return self._idempotency.look(head.id, identity)[1]
        if not waiting:
            return earlier
        runs = {**earlier.runs, **{otid: run_id for otid, run_id in waiting.items() if otid}}
        return KnownRequest(earlier.run_id or next(iter(runs.values())), runs=runs)

    def _differs(self, inputs: RequestInputs, runs: Mapping[str, str], first: StoredRun) -> bool:
        """Whether a message differs from the one that its run took. Raises: InvalidArgument."""
        if inputs.answer is not None and inputs.answer.otid not in runs:
            raise partly_new(next(iter(runs)), first.id)
        differs = False
        rows: dict[str, Mapping[str, Message]] = {}
        for run_id in dict.fromkeys(runs.values()):
            state = self._runs.get(run_id) if run_id != first.id else None
            run = first if run_id == first.id else state.run if state is not None else None
            rows[run_id] = self._rows(run, run.input_digest.count if run.input_digest else INPUT_PAGE) if run is not None else {}
        for one in inputs.messages:
            row = rows[runs.get(one.otid or "", first.id)].get(one.otid or "")
            if row is None and one.otid not in runs:
                raise partly_new(next(iter(runs)), first.id)
            differs = differs or row is None or not _is_row_of(one, row)
        return differs

    def _rows(self, run: StoredRun, count: int) -> Mapping[str, Message]:
        """The run's messages by their otids: those in the log, and those that wait on the run. `count`: of its request."""
        rows = list(run.input)
        if run.first_message:
            log, limit = run.conversation_id or run.agent_id, count + INPUT_PAGE
            rows = [*self._conversations.page(log, after=run.first_message[:-1], limit=limit), *rows]
        return {row.otid: row for row in rows if row.otid and row.run_id == run.id}


def _says_the_same_page(inputs: RequestInputs, rows: Mapping[str, Message]) -> bool:
    """Whether the messages are those of a run without a digest. Messages that no longer exist count as the same."""
    return all(content_of(one) == rows[one.otid].content for one in inputs.messages if one.otid and one.otid in rows)


def _is_row_of(one: MessageCreate, row: Message) -> bool:
    fields = (one.role, one.name, one.sender_id, content_of(one))
    return fields == (row.role, row.name, row.sender_id, row.content)
