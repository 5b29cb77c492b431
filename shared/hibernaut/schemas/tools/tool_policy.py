"""Tool policies: which calls of tools a tenant allows, denies, or has approved by a person. An extension of Hibernaut; V1 has
none.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.ids import AgentId, pattern
from hibernaut.schemas.limits import MaxBytes
from hibernaut.schemas.names import is_plain
from hibernaut.schemas.stored import Stored

MOST_POLICIES = 200
"""The largest number of policies of a tenant."""
MOST_PATTERNS = 50
"""The largest number of patterns in one list of a policy."""
MOST_CONDITIONS = 10
LONGEST_PATTERN = 200
LARGEST_TESTED = 1_000_000
"""The largest arguments of a test, in bytes of JSON."""
DAY_SECONDS = 86_400

PolicyAction = Literal["allow", "deny", "ask"]
PolicyOutcome = Literal["allowed", "denied", "limited", "asked", "approved", "rejected", "returned", "invalid", "interrupted"]
"""The outcome of a call. `denied`: by a policy; `limited`: the rate of its policy is exhausted. `asked`: it waits for a person,
who `approved` or `rejected` it, or for the client, which `returned` its result. `invalid`: the agent may not make it, or its
arguments are no JSON. `interrupted`: its run was ended.
"""
RateSubject = Literal["key", "agent", "tenant"]


def _plain(text: str) -> str:
    if not is_plain(text):
        raise ValueError("A name or a pattern may not contain '<', '>', line breaks or control characters.")
    return text


def _steps(path: str) -> str:
    if path and not all(path.split(".")):
        raise ValueError("A path is names with dots between them, such as `message.to`; an empty path means all arguments.")
    return path


ToolPolicyId = Annotated[str, StringConstraints(pattern=pattern("tool-policy"))]
PolicyName = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_plain)]
NamePattern = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PATTERN), AfterValidator(_plain)]
"""A pattern for names: `*` stands for any characters, all others for themselves."""
ValuePattern = Annotated[str, StringConstraints(max_length=LONGEST_PATTERN)]
"""A pattern for values of arguments, of the same form."""
ArgumentPath = Annotated[str, StringConstraints(max_length=LONGEST_PATTERN), AfterValidator(_steps)]
DenialText = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
NamePatterns = Annotated[list[NamePattern], Field(min_length=1, max_length=MOST_PATTERNS)]
CallArguments = Annotated[JsonObject, AfterValidator(MaxBytes(LARGEST_TESTED))]


class ArgumentCondition(Schema):
    """A condition on the values at a path of a call's arguments. Lists are passed through; an object stands for all values in it.

    A text is compared as it is, every other value as JSON writes it (`5`, `true`, `null`). `negate`: the values must not match
    any pattern.
    """

    path: str = ""
    matches: list[str]
    negate: bool = False
    ignore_case: bool = False


class GivenCondition(ArgumentCondition, StrictSchema):
    """A condition in a request, within its limits."""

    path: ArgumentPath = ""
    matches: Annotated[list[ValuePattern], Field(min_length=1, max_length=MOST_PATTERNS)]


class CallRate(Schema):
    """At most `calls` calls of a tool in each window of `seconds`, which begins at a multiple of them in UTC; for each API key,
    each agent, or in all.
    """

    calls: int
    seconds: int
    per: RateSubject = "key"


class GivenRate(CallRate, StrictSchema):
    """A rate in a request, within its limits."""

    calls: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
    seconds: Annotated[int, Field(strict=True, ge=1, le=DAY_SECONDS)]


Conditions = Annotated[list[GivenCondition], Field(max_length=MOST_CONDITIONS)]


class CreateToolPolicy(StrictSchema):
    """The request for a new policy. `position`: its place among the policies, from 0; null: behind all others.

    A call matches if all of these do: one of `tools`, one of `servers` (names or ids of MCP servers; a tool without a server
    matches none), one of the agent's tags (`agent_tags`), and every condition of `arguments`. `message`: what the model reads if
    the call is denied.
    `waives_approval`: an allowed call needs no approval either, whatever the agent's own rules say. `rate`: further calls are
    denied until the window ends.
    """

    name: PolicyName
    action: PolicyAction
    tools: NamePatterns = Field(default_factory=lambda: ["*"])
    servers: NamePatterns | None = None
    agent_tags: NamePatterns | None = None
    arguments: Conditions = Field(default_factory=list)
    message: DenialText | None = None
    waives_approval: bool = False
    rate: GivenRate | None = None
    enabled: bool = True
    position: Annotated[int, Field(ge=0, lt=MOST_POLICIES)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_fits(self.action, waives=self.waives_approval, limited=self.rate is not None)
        return self


class UpdateToolPolicy(StrictSchema):
    """The request to change a policy: the fields of the request replace those of the policy; `servers`, `agent_tags`, `message`
    and `rate` may be null.
    """

    name: PolicyName | None = None
    action: PolicyAction | None = None
    tools: NamePatterns | None = None
    servers: NamePatterns | None = None
    agent_tags: NamePatterns | None = None
    arguments: Conditions | None = None
    message: DenialText | None = None
    waives_approval: bool | None = None
    rate: GivenRate | None = None
    enabled: bool | None = None


class OrderToolPolicies(StrictSchema):
    """The request to order the policies: the ids of all of them, each once."""

    policy_ids: Annotated[list[ToolPolicyId], Field(max_length=MOST_POLICIES)]


class ToolPolicy(Schema):
    """A policy, as stored and on the wire. The first policy of the list that matches a call decides it."""

    id: str
    name: str
    action: PolicyAction
    tools: list[str] = Field(default_factory=list)
    servers: list[str] | None = None
    agent_tags: list[str] | None = None
    arguments: list[ArgumentCondition] = Field(default_factory=list)
    message: str | None = None
    waives_approval: bool = False
    rate: CallRate | None = None
    enabled: bool = True
    created_at: Moment
    updated_at: Moment


class StoredToolPolicies(Stored):
    """The record in the table: all policies of a tenant, in their order. `version` counts changes."""

    policies: list[ToolPolicy] = Field(default_factory=list)
    version: int = 0


class CallDecision(Schema):
    """The decision of a policy about a call. It is made once per model reply and stored with it, so that a repeated step decides
    the same.
    """

    call_id: str
    policy_id: str
    name: str
    action: PolicyAction
    message: str | None = None
    waives_approval: bool = False
    rate: CallRate | None = None


class TestToolPolicies(StrictSchema):
    """A call to test. `agent_id`: the agent with the tags and tools of the test; without it the request has the tags, and the
    tool is any tool of the tenant.
    """

    __test__ = False

    tool: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    args: CallArguments = Field(default_factory=dict)
    agent_id: AgentId | None = None
    agent_tags: Annotated[list[str], Field(max_length=1000)] | None = None
    server: str | None = None


class CheckedPolicy(Schema):
    """A policy that was compared with a tested call. `reason`: why it does not match, or that it does."""

    policy_id: str
    name: str
    matches: bool
    reason: str


class TestedToolPolicies(Schema):
    """The result of a test. `outcome` null: no policy matches, so the agent's own rules decide alone. `told`: the text for the
    model if the call is denied.
    """

    __test__ = False

    outcome: PolicyAction | None = None
    policy: ToolPolicy | None = None
    told: str | None = None
    waives_approval: bool = False
    rate: CallRate | None = None
    checked: list[CheckedPolicy] = Field(default_factory=list)


def check_fits(action: PolicyAction, *, waives: bool, limited: bool) -> None:
    """Raises: ValueError if the action takes no waiver or no rate."""
    if action != "allow" and (waives or limited):
        raise ValueError(
            f"Only a policy with the action `allow` has `waives_approval` or `rate`; this one has the action `{action}`."
        )
