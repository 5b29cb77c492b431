"""The administration of one tenant's tool policies, the test of a call, and the list of recorded calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from hibernaut.domain.tools import tool_policy
from hibernaut.domain.tools.tool_policy import MATCHES, JudgedCall
from hibernaut.domain.wire.listing import FilteredPage, filtered_page
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.call_record import StoredCalls, ToolCallRecord
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_policy import (
    MOST_POLICIES,
    CheckedPolicy,
    CreateToolPolicy,
    OrderToolPolicies,
    PolicyOutcome,
    StoredToolPolicies,
    TestedToolPolicies,
    TestToolPolicies,
    ToolPolicy,
    UpdateToolPolicy,
    check_fits,
)
from hibernaut.services.host import Host
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.optimistic_retry import until_settled

TRIES = 20
MOST_READ = 10_000
"""The largest number of recorded calls that are searched for one page."""
_MAY_BE_NULL = ("servers", "agent_tags", "message", "rate")
T = TypeVar("T")
logger = logging.getLogger(__name__)


@immutable
class CallQuery:
    """The filter and the page of the list of recorded calls; None does not filter."""

    limit: int = 50
    after: str | None = None
    agent_id: str | None = None
    tool: str | None = None
    outcome: PolicyOutcome | None = None
    policy_id: str | None = None
    key_id: str | None = None


class ToolPolicies:
    """The use cases of one tenant's tool policies."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._store = stores.tool_policies
        self._records = stores.call_records
        self._agents = stores.agents
        self._tools = stores.tools
        self._writer = stores.writer
        self._clock = host.clock
        self._ids = host.ids

    def all(self) -> list[ToolPolicy]:
        """The policies in their order."""
        return self._store.get().policies

    def retrieve(self, policy_id: str) -> ToolPolicy:
        """One policy. Raises: NotFound."""
        return _by_id(self.all(), policy_id)

    def create(self, request: CreateToolPolicy) -> ToolPolicy:
        """Add a policy at its position. Raises: Conflict if there are too many."""
        now = self._clock.now()
        fields = request.model_dump(exclude={"position"})
        policy = ToolPolicy(id=self._ids.new("tool-policy"), created_at=now, updated_at=now, **fields)

        def after(policies: list[ToolPolicy]) -> tuple[list[ToolPolicy], ToolPolicy]:
            if len(policies) >= MOST_POLICIES:
                raise Conflict(f"CONFLICT: A tenant has at most {MOST_POLICIES} tool policies; delete another one first.")
            place = len(policies) if request.position is None else request.position
            return [*policies[:place], policy, *policies[place:]], policy

        return self._changed(after, "tool policy created")

    def update(self, policy_id: str, request: UpdateToolPolicy) -> ToolPolicy:
        """Change a policy; its place stays. Raises: NotFound, InvalidArgument, Conflict."""
        request_fields = request.model_dump(exclude_unset=True)
        fields = {name: value for name, value in request_fields.items() if value is not None or name in _MAY_BE_NULL}

        def after(policies: list[ToolPolicy]) -> tuple[list[ToolPolicy], ToolPolicy]:
            before = _by_id(policies, policy_id)
            updated = ToolPolicy.model_validate({**before.model_dump(), **fields, "updated_at": self._clock.now()})
            try:
                check_fits(updated.action, waives=updated.waives_approval, limited=updated.rate is not None)
            except ValueError as error:
                raise InvalidArgument(f"INVALID_ARGUMENT: {error}") from error
            return [updated if each.id == policy_id else each for each in policies], updated

        return self._changed(after, "tool policy changed")

    def delete(self, policy_id: str) -> None:
        """Delete a policy. Raises: NotFound, Conflict."""

        def after(policies: list[ToolPolicy]) -> tuple[list[ToolPolicy], ToolPolicy]:
            deleted = _by_id(policies, policy_id)
            return [each for each in policies if each is not deleted], deleted

        self._changed(after, "tool policy deleted")

    def order(self, request: OrderToolPolicies) -> list[ToolPolicy]:
        """Put the policies into this order. Raises: InvalidArgument if the ids are not those of all policies, each once;
        Conflict.
        """

        def after(policies: list[ToolPolicy]) -> tuple[list[ToolPolicy], list[ToolPolicy]]:
            found = {each.id: each for each in policies}
            if sorted(request.policy_ids) != sorted(found):
                raise InvalidArgument(
                    f"INVALID_ARGUMENT: `policy_ids` must name each of the {len(found)} policies once; read them and send their new order."
                )
            in_new_order = [found[each] for each in request.policy_ids]
            return in_new_order, in_new_order

        return self._changed(after, "tool policies ordered")

    def test(self, request: TestToolPolicies) -> TestedToolPolicies:
        """Which policy decides a call, and why. Nothing is called, counted or recorded. Raises: NotFound if there is no such
        agent.
        """
        agent = self._agents.get(request.agent_id) if request.agent_id else None
        if request.agent_id and agent is None:
            raise NotFound(f"Agent with ID {request.agent_id} not found")
        call = self._tested(request, agent)
        result = TestedToolPolicies()
        for policy in self.all():
            reason = tool_policy.mismatch(policy, call)
            checked = CheckedPolicy(policy_id=policy.id, name=policy.name, matches=reason is None, reason=reason or MATCHES)
            result.checked.append(checked)
            if reason is None:
                decided = tool_policy.decided_by(policy, "test")
                denial = tool_policy.denial(decided) if policy.action == "deny" else None
                found = {"outcome": policy.action, "policy": policy, "told": denial, "rate": policy.rate}
                return result.model_copy(update={**found, "waives_approval": policy.waives_approval})
        return result

    def calls(self, query: CallQuery) -> FilteredPage[ToolCallRecord]:
        """A page of the recorded calls, newest first. At most 10,000 of them are searched."""
        found = filtered_page(
            self._recorded(query),
            lambda record: _passes(record, query),
            limit=query.limit,
            most=MOST_READ,
            cursor="after",
            id_of=lambda record: record.id,
        )
        return FilteredPage(found.rows, found.rest)

    def _tested(self, request: TestToolPolicies, agent: StoredAgent | None) -> JudgedCall:
        tool: Tool | None
        if agent is not None:
            attached = self._tools.get_many(agent.tool_ids).values()
            tool = next((each for each in attached if each.name == request.tool), None)
        else:
            tool = self._tools.by_name([request.tool]).get(request.tool)
        tags = request.agent_tags if request.agent_tags is not None else (agent.tags if agent else [])
        args: JsonObject = request.args
        call = tool_policy.judged_call(request.tool, tool, args, tags)
        return call if request.server is None else JudgedCall(call.tool, call.args, (request.server,), call.tags)

    def _recorded(self, query: CallQuery) -> Iterator[ToolCallRecord]:
        """The recorded calls behind the cursor, newest first."""
        entry, _, place = (query.after or "").partition(".")
        before = f"{entry}~" if entry else None  # the entry of the cursor itself, whose further calls are on the next page
        for stored_calls in self._records.walk(IdRange(None, before), self._clock.now(), first=query.limit):
            records = _records(stored_calls)
            yield from (each for each in records if stored_calls.id != entry or _place(each) < int(place))

    def _changed(self, after: Callable[[list[ToolPolicy]], tuple[list[ToolPolicy], T]], event: str) -> T:
        """Change the policies. Raises: Conflict, and what `after` raises."""

        def attempt() -> T:
            before: StoredToolPolicies = self._store.get()
            policies, result = after(before.policies)
            token = self._ids.token()
            self._writer.write(self._store.change(before, policies, token), token=token)
            self._store.now.forget()
            logger.info(event, extra={"policies": len(policies)})
            return result

        return until_settled(attempt, "CONFLICT: Tool policies keep being changed by other requests; try again.", tries=TRIES)


def _by_id(policies: list[ToolPolicy], policy_id: str) -> ToolPolicy:
    """Raises: NotFound."""
    found = next((each for each in policies if each.id == policy_id), None)
    if found is None:
        raise NotFound(f"Tool policy with ID {policy_id} not found")
    return found


def _records(stored: StoredCalls) -> list[ToolCallRecord]:
    """The calls of one record, the last one first, as the records are."""
    shared = stored.model_dump(exclude={"calls", "id"})
    calls = reversed(list(enumerate(stored.calls)))
    return [ToolCallRecord(id=f"{stored.id}.{place}", **shared, **call.model_dump()) for place, call in calls]


def _place(record: ToolCallRecord) -> int:
    return int(record.id.rpartition(".")[2])


def _passes(record: ToolCallRecord, query: CallQuery) -> bool:
    return (
        query.agent_id in (None, record.agent_id)
        and query.tool in (None, record.tool)
        and query.outcome in (None, record.outcome)
        and query.policy_id in (None, record.policy_id)
        and query.key_id in (None, record.key_id)
    )
