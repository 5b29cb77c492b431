"""Webhooks: the receivers of events, and the state of each delivery. An extension of Hibernaut; V1 has none."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.events.facts import EventType
from hibernaut.schemas.ids import AgentId, pattern
from hibernaut.schemas.limits import LONGEST_URL
from hibernaut.schemas.names import is_plain
from hibernaut.schemas.stored import Stored

MOST_FILTERS = 50
"""The largest number of agent ids, and of tags, in the filter of one webhook."""
DAY_SECONDS = 86_400
LONGEST_OVERLAP = 30 * DAY_SECONDS
"""The longest time in seconds for which an earlier secret stays valid."""

WebhookId = Annotated[str, StringConstraints(pattern=pattern("webhook"))]
EventId = Annotated[str, StringConstraints(pattern=pattern("evt"))]
DeliveryState = Literal["pending", "delivered", "dead"]
"""`pending`: waits for its next attempt. `dead`: no further attempts; the delivery is retained, and can be replayed."""
DisabledReason = Literal["request", "gone", "failing"]
"""Why a webhook is disabled: by a request; because it answered 410; because it has failed for days."""


def _plain_name(name: str) -> str:
    if not is_plain(name):
        raise ValueError("A webhook's name may not contain '<', '>', line breaks or control characters.")
    return name


WebhookName = Annotated[str, StringConstraints(max_length=100), AfterValidator(_plain_name)]
AgentTag = Annotated[str, StringConstraints(min_length=1, max_length=200)]
WebhookUrl = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)]


class WebhookFilter(Schema):
    """What a webhook hears of. `types` empty: all types. With `agent_ids` or `agent_tags`, only events about these agents, or
    about agents with one of these tags.
    """

    types: list[EventType] = Field(default_factory=list, max_length=20)
    agent_ids: list[AgentId] = Field(default_factory=list, max_length=MOST_FILTERS)
    agent_tags: list[AgentTag] = Field(default_factory=list, max_length=MOST_FILTERS)


class CreateWebhook(WebhookFilter, StrictSchema):
    """The request for a new webhook."""

    name: WebhookName = ""
    url: WebhookUrl


class UpdateWebhook(StrictSchema):
    """The request to change a webhook; what is not sent, or null, stays. `enabled`: true also ends the rest after failures."""

    name: WebhookName | None = None
    url: WebhookUrl | None = None
    types: list[EventType] | None = Field(default=None, max_length=20)
    agent_ids: list[AgentId] | None = Field(default=None, max_length=MOST_FILTERS)
    agent_tags: list[AgentTag] | None = Field(default=None, max_length=MOST_FILTERS)
    enabled: bool | None = None


class RotateSecret(StrictSchema):
    """The request for a new secret. Until the overlap ends, deliveries are signed with both."""

    overlap_seconds: int = Field(default=DAY_SECONDS, ge=0, le=LONGEST_OVERLAP)


class Webhook(WebhookFilter):
    """A webhook as the API shows it, without its secret. `failures`: failed tries in a row; `failing_since`: the first of them.
    `hint`: the first characters of the secret.
    """

    id: WebhookId
    name: str = ""
    url: str
    enabled: bool = True
    disabled_reason: DisabledReason | None = None
    disabled_at: Moment | None = None
    failures: int = 0
    failing_since: Moment | None = None
    hint: str = ""
    created_at: Moment
    updated_at: Moment


class CreatedWebhook(Webhook):
    """A new webhook, or one with a new secret. `secret` is what only this response contains."""

    secret: str


class SealedSecret(Schema):
    """A stored secret. `until`: when it stops being valid; None: it is the current one."""

    sealed: str
    until: Moment | None = None


class StoredWebhook(Stored, Webhook):
    """The record in the table. `failed_at`: the newest failed try."""

    secrets: list[SealedSecret] = Field(default_factory=list)
    failed_at: Moment | None = None
    version: int = 1

    def wire(self) -> Webhook:
        """What the API shows."""
        return Webhook(**self.model_dump(include=set(Webhook.model_fields)))


class Delivery(Schema):
    """One event for one webhook. `tries`: how often it was sent, without a test. `status`: the HTTP status of the newest answer;
    `error`: why the newest try failed. `next_try_at`: null if there is none.
    """

    event_id: str
    webhook_id: str
    type: str
    state: DeliveryState
    tries: int = 0
    status: int | None = None
    error: str | None = None
    created_at: Moment
    tried_at: Moment | None = None
    next_try_at: Moment | None = None
    event: JsonObject


class TestedWebhook(Schema):
    """The outcome of a test. `delivered`: the receiver answered with a status from 200 to 299."""

    __test__ = False

    delivered: bool
    status: int | None = None
    error: str | None = None
    duration_ms: int


class ReplayDead(StrictSchema):
    """The request to replay dead deliveries of events from `since` (inclusive) to `until` (exclusive); null: no bound. At most
    `limit`, oldest first.
    """

    since: Moment | None = None
    until: Moment | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class ReplayedDead(Schema):
    """How many dead deliveries wait again. `more`: there are others in the range."""

    replayed: int
    more: bool
