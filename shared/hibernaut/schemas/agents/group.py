"""A group of agents (Letta V1 API, API 4.11): the stored record, the wire form, and the request bodies."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.ids import GroupId
from hibernaut.schemas.limits import Name, Names, Note
from hibernaut.schemas.stored import Stored

LONGEST_IDLE = 30 * 24 * 3600
"""The longest idle time after which a sleep-time agent works, in seconds."""
MOST_EVERY = 10_000
"""The largest number of turns between two runs of a sleep-time agent."""


class ManagerType(StrEnum):
    """How the agents of a group work together."""

    ROUND_ROBIN = "round_robin"
    SUPERVISOR = "supervisor"
    DYNAMIC = "dynamic"
    SLEEPTIME = "sleeptime"
    VOICE_SLEEPTIME = "voice_sleeptime"
    SWARM = "swarm"


SLEEPING = frozenset({ManagerType.SLEEPTIME, ManagerType.VOICE_SLEEPTIME})
"""The types of a group that consists of an agent and its sleep-time agents, which work on its memory between its turns."""


class Group(Schema):
    """The wire form. `sleeptime_idle_seconds` is an addition to V1: the seconds without a turn after which the sleep-time agents
    work; null: never.
    """

    id: str
    manager_type: ManagerType
    agent_ids: list[str]
    description: str
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    shared_block_ids: list[str] = Field(default_factory=list)
    manager_agent_id: str | None = None
    termination_token: str | None = None
    max_turns: int | None = None
    sleeptime_agent_frequency: int | None = None
    sleeptime_idle_seconds: int | None = None
    turns_counter: int | None = None
    last_processed_message_id: str | None = None
    max_message_buffer_length: int | None = None
    min_message_buffer_length: int | None = None
    hidden: bool | None = None


class TranscriptProgress(Schema):
    """The messages of a conversation after `after` up to `upto`: those of turns that have ended, which its sleep-time agents have
    not received; there are none if the two are equal. The stored name of `after` is `told`.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    after: str = Field(validation_alias="told", serialization_alias="told")
    upto: str


class StoredGroup(Stored, Group):
    """The stored record: the wire form, the number of counted turns, and the conversations with their progress by id (stored as
    `heard`). `version` counts changes.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    turns: int = 0
    progress: dict[str, TranscriptProgress] = Field(default_factory=dict, validation_alias="heard", serialization_alias="heard")
    version: int = 1

    def wire(self) -> Group:
        """The form that clients see. Fields are shared with the record, not copied."""
        return Group.model_construct(**{name: getattr(self, name) for name in Group.model_fields})


TriggerReason = Literal["turns", "idle", "schedule"]


class SleeptimeTrigger(Stored):
    """Work for the sleep-time agents of a group: the messages of `spans`, by conversation. The group no longer contains these
    spans.

    `name` is unique in the group. `runs`: the run of each agent, by the agent's id; the runs get these ids. `part` numbers the
    pieces of a transcript that is too long for one message. `turn`: the work is due after the turn with this number. `key_id`:
    the API key of that turn.
    """

    group_id: str
    manager_agent_id: str
    name: str
    reason: TriggerReason
    spans: dict[str, TranscriptProgress]
    runs: dict[str, str]
    part: int = 0
    turn: int = 0
    key_id: str | None = None

    @property
    def otid(self) -> str:
        """The idempotency key of the message."""
        return f"{self.group_id}.{self.name}" + (f".{self.part}" if self.part else "")


class RoundRobinSettings(Schema):
    """The agents answer in turn."""

    manager_type: Literal[ManagerType.ROUND_ROBIN] = ManagerType.ROUND_ROBIN
    max_turns: Whole | None = Field(default=None, ge=1)


class _Supervisor(Schema):
    """A manager sends messages to the agents."""

    manager_type: Literal[ManagerType.SUPERVISOR] = ManagerType.SUPERVISOR


class _Dynamic(Schema):
    """A manager chooses the next agent, until its reply contains the termination token."""

    manager_type: Literal[ManagerType.DYNAMIC] = ManagerType.DYNAMIC
    max_turns: Whole | None = Field(default=None, ge=1)


class _Sleeptime(Schema):
    """The agents work on the manager's memory while it does not talk.

    A frequency of null works after every turn, 0 after none. `sleeptime_idle_seconds`: they also work when there was no turn for
    so long; 0: never.
    """

    manager_type: Literal[ManagerType.SLEEPTIME] = ManagerType.SLEEPTIME
    sleeptime_agent_frequency: Whole | None = Field(default=None, ge=0, le=MOST_EVERY)
    sleeptime_idle_seconds: Whole | None = Field(default=None, ge=0, le=LONGEST_IDLE)


class _VoiceSleeptime(Schema):
    """The same for an agent on a voice line. The lengths are target numbers of messages in its window."""

    manager_type: Literal[ManagerType.VOICE_SLEEPTIME] = ManagerType.VOICE_SLEEPTIME
    max_message_buffer_length: Whole | None = None
    min_message_buffer_length: Whole | None = None


class SupervisorSettings(_Supervisor):
    """A supervisor group."""

    manager_agent_id: Name


class DynamicSettings(_Dynamic):
    """A dynamic group."""

    manager_agent_id: Name
    termination_token: Name | None = "DONE!"  # noqa: S105 - a word of the protocol, no secret


class SleeptimeSettings(_Sleeptime):
    """A sleep-time group."""

    manager_agent_id: Name


class VoiceSleeptimeSettings(_VoiceSleeptime):
    """A sleep-time group of a voice agent."""

    manager_agent_id: Name


class SupervisorChanges(_Supervisor):
    """Changes of a supervisor group."""

    manager_agent_id: Name | None = None


class DynamicChanges(_Dynamic):
    """Changes of a dynamic group."""

    manager_agent_id: Name | None = None
    termination_token: Name | None = None


class SleeptimeChanges(_Sleeptime):
    """Changes of a sleep-time group."""

    manager_agent_id: Name | None = None


class VoiceSleeptimeChanges(_VoiceSleeptime):
    """Changes of a sleep-time group of a voice agent."""

    manager_agent_id: Name | None = None


ManagerConfig = Annotated[
    RoundRobinSettings | SupervisorSettings | DynamicSettings | SleeptimeSettings | VoiceSleeptimeSettings,
    Field(discriminator="manager_type"),
]
ManagerConfigUpdate = Annotated[
    RoundRobinSettings | SupervisorChanges | DynamicChanges | SleeptimeChanges | VoiceSleeptimeChanges,
    Field(discriminator="manager_type"),
]


class GroupCreate(Schema):
    """The body of POST /v1/groups/. The shared blocks are attached to all agents of the group. `id`, an extension: a group that
    has this id already is returned as it is.
    """

    id: GroupId | None = None
    agent_ids: Names
    description: Note
    manager_config: ManagerConfig = Field(default_factory=RoundRobinSettings)
    project_id: Name | None = None
    shared_block_ids: Names = Field(default_factory=list)
    hidden: bool | None = None


class GroupUpdate(Schema):
    """The body of PATCH /v1/groups/{id}: null fields change nothing; lists replace the whole list."""

    agent_ids: Names | None = None
    description: Note | None = None
    manager_config: ManagerConfigUpdate | None = None
    project_id: Name | None = None
    shared_block_ids: Names | None = None
    hidden: bool | None = None
