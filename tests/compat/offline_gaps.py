"""What AWS in one process cannot show, and what stands in for it: a difference between the profiles is a bug, or it is a row here.

`docs/aws.md` says the same to users; a test compares the two. Rows whose `excuses` name a row of the compatibility manifest are the only
ones whose tests may be left out on `aws-offline`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """`reason`: why it cannot be shown here. `instead`: what is tested in its place, or that nothing is."""

    id: str
    what: str
    reason: str
    instead: str
    excuses: tuple[str, ...] = ()


GAPS = (
    Gap(
        "permissions",
        "Roles, resource policies and the gateway's list of callers",
        "moto asks no permission, and the front asks no address",
        "every call that a handler makes is compared with its role's statements; the template's policies are read by tests",
    ),
    Gap(
        "index-lag",
        "Indexes that lag behind the table, and a change stream that lags for long",
        "moto's indexes are always up to date, and its stream is told within moments",
        "the store's suites run on an engine that reveals a transaction item by item; what must be seen at once is read from the table",
    ),
    Gap(
        "throttling",
        "DynamoDB, Lambda and Step Functions refusing requests because there are too many",
        "moto refuses none",
        "refusals are raised by doubles: the table's Contended, and the state machine's Retry by name",
    ),
    Gap(
        "transaction-conflict",
        "Two transactions that meet on one item",
        "moto does one request after the other, and so does DynamoDB Local",
        "the error is raised by doubles",
    ),
    Gap(
        "ttl",
        "Items that vanish when their time is over",
        "moto deletes none",
        "readers leave expired items out, on every engine",
    ),
    Gap(
        "lambda-limits",
        "Memory limits, cold starts, one event at a time per environment, and the size of the deployed code",
        "handlers are threads of one process, with its memory and its packages",
        "events, replies and time are limited as on AWS; cold imports are measured by `make bench`",
    ),
    Gap(
        "environments",
        "An environment variable that differs from function to function",
        "one process has one environment",
        "the loader refuses a template on whose variables two functions disagree",
    ),
    Gap(
        "zombies",
        "A frozen environment that wakes up again in the middle of a call that was given up",
        "a thread that passed its time limit goes on at once",
        "the table's contract suite, and the walk over every interleaving of the run's protocol",
    ),
    Gap(
        "cage",
        "The walls around custom tools: role, tenant isolation, no network of ours",
        "the function runs in this process, and its child beside it",
        "the child's limits and its empty environment are tested; the role's text is read by a test",
    ),
    Gap(
        "gateway-streaming",
        "The gateway's choice of a resource for a path, its limit on silence, and the Web Adapter",
        "the front finds resources in the template's tree and passes pieces on by itself, and asks the app without a server",
        "every route of the app is looked up in that tree, by stricter rules than AWS's; the server that the function starts is started "
        "by a test",
    ),
    Gap(
        "late-tokens",
        "What Step Functions answers for a wait that is over",
        "moto calls the token invalid, AWS the task timed out or gone",
        "whoever ends a wait takes any refusal for its end",
    ),
    Gap(
        "kill",
        "Survival of a killed process, and of a restart of the profile",
        "moto keeps everything in this process's memory",
        "handlers are abandoned at every outside call here, and killed as processes over DynamoDB Local",
    ),
    Gap(
        "scheduler",
        "EventBridge Scheduler firing by itself, and delivering late or twice",
        "moto stores schedules and fires none",
        "a clock of this process fires the template's schedule; a doubled sweep is a test of the sweep",
    ),
    Gap(
        "bus",
        "EventBridge's bus",
        "moto's hears nothing of executions or objects, so this process tells the rules' targets itself",
        "events are dropped, and delivered twice, by tests",
    ),
    Gap(
        "domain",
        "The OpenSearch domain: its signatures, its policy, its network",
        "moto has none, so the index is one SQLite file (or a node that `HIBERNAUT_OPENSEARCH` names)",
        "both engines pass one contract suite, OpenSearch on a real node; what is asked there is compared with what roles allow",
    ),
    Gap(
        "event-sources",
        "Lambda's reading of the change stream: shards side by side, halved batches, waiting between two tries",
        "moto tells a function within each write, filters nothing and forgets what fails, so this process tells them by the template's mapping",
        "the whole API suite runs while they are told; failures, repetition and giving up are tests of whoever tells them",
    ),
    Gap(
        "uploads",
        "Files that clients put into the bucket themselves",
        "moto's bucket is inside this process, and takes any length",
        "a test puts a file there by its signed address; what the signature covers is a test",
    ),
    Gap(
        "observability",
        "Log groups, metrics, alarms and traces",
        "nobody collects them here",
        "the template's alarms and retention are read by tests; the log of a whole turn is searched for planted secrets",
    ),
)
