"""What AWS in one process cannot show, and what stands in for it: a difference between the profiles is a bug, or it is a row
here.

`docs/aws.md` says the same to users; a test compares the two. Rows whose `excuses` name a row of the compatibility manifest are
the only ones whose tests may be left out on `aws-offline`.
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
        "moto checks no permissions, and the local gateway checks no addresses",
        "every call of a handler is compared with the statements of its role; tests read the template's policies",
    ),
    Gap(
        "websocket-quotas",
        "API Gateway's quotas of a WebSocket: two hours, ten idle minutes, frames of 32 KB from clients, its own close codes and throttling",
        "the local gateway keeps a connection open and reads a message of several frames as one",
        "posts over 32 KB and posts to connections that are gone are refused as by AWS; no test waits for the quotas of time",
    ),
    Gap(
        "index-lag",
        "Indexes that lag behind the table, and a change stream that lags for long",
        "moto's indexes are always up to date, and its stream delivers at once",
        "the store's suites run on an engine that reveals a transaction item by item; reads that must be current use the table",
    ),
    Gap(
        "throttling",
        "Throttling by DynamoDB, Lambda and Step Functions",
        "moto throttles no request",
        "test doubles raise the errors: Contended of the table, and the names that the state machine retries",
    ),
    Gap(
        "transaction-conflict",
        "Two concurrent transactions on one item",
        "moto processes one request at a time, and so does DynamoDB Local",
        "test doubles raise the error",
    ),
    Gap(
        "ttl",
        "Deletion of items whose time to live has expired",
        "moto deletes no item",
        "readers skip expired items, on every engine",
    ),
    Gap(
        "lambda-limits",
        "Memory limits, cold starts, one event at a time per environment, and the size of the deployed code",
        "handlers are threads of one process, with its memory and its packages",
        "the limits of events, replies and time apply as on AWS; `make bench` measures cold imports",
    ),
    Gap(
        "environments",
        "An environment variable with different values in two functions",
        "one process has one environment",
        "the loader refuses a template in which a variable has two values",
    ),
    Gap(
        "zombies",
        "A frozen environment that resumes in the middle of an abandoned call",
        "a thread that exceeds its time limit continues without a pause",
        "the table's contract suite, and a test of every interleaving of the run protocol",
    ),
    Gap(
        "cage",
        "The isolation of custom tools: role, tenant isolation, no access to the stack's network",
        "the function runs in this process, and its child process on this machine",
        "tests cover the limits and the empty environment of the child process; a test reads the role",
    ),
    Gap(
        "gateway-streaming",
        "The gateway's choice of a resource for a path, its limit on silence, and the Web Adapter",
        "the local gateway resolves paths in the template's tree, forwards the pieces of a reply, and calls the application without a server",
        "a test looks every route of the application up in that tree, by stricter rules than AWS's; another starts the server that "
        "the function starts",
    ),
    Gap(
        "late-tokens",
        "The error of Step Functions for a task token whose wait has ended",
        "moto reports an invalid token, AWS a timed-out or missing task",
        "the code that ends a wait treats each of these errors as ended",
    ),
    Gap(
        "kill",
        "Survival of a killed process without `--data-dir`",
        "moto stores everything in the memory of this process",
        "handlers are abandoned at every outside call here, and killed as processes on DynamoDB Local",
    ),
    Gap(
        "scheduler",
        "EventBridge Scheduler's own clock, and its late or repeated deliveries",
        "moto stores schedules and runs none",
        "a timer of this process runs the template's schedule; a test runs the sweep twice",
    ),
    Gap(
        "bus",
        "EventBridge's bus",
        "moto's bus receives no events of executions or objects, so this process calls the rules' targets itself",
        "tests drop events and deliver them twice",
    ),
    Gap(
        "collection",
        "A serverless collection (`search=serverless`)",
        "this profile synthesizes `search=domain`",
        "the contract suite runs on a node behind a server that refuses what a collection refuses and shows writes late; a test compares its requests with the data access policy",
    ),
    Gap(
        "domain",
        "The OpenSearch domain: its signatures, its policy, its network",
        "moto has no domain, so the index is one SQLite file (or a node that `HIBERNAUT_OPENSEARCH` names)",
        "both engines pass one contract suite, OpenSearch on a real node; a test compares the requests to it with the roles",
    ),
    Gap(
        "event-sources",
        "Lambda's reading of the change stream: parallel shards, halved batches, waits between two tries",
        "moto calls a function within each write, filters nothing and drops failures, so this process applies the template's mapping itself",
        "the whole API suite runs with this delivery; tests of it cover failures, repetition and giving up",
    ),
    Gap(
        "uploads",
        "Uploads by clients directly to the bucket",
        "moto's bucket is inside this process, and accepts any length",
        "a test uploads a file to its signed address; another checks what the signature covers",
    ),
    Gap(
        "observability",
        "Log groups, metrics, alarms and traces",
        "this process collects none",
        "tests read the template's alarms and retention, and search the log of a whole turn for planted secrets",
    ),
    Gap(
        "walls",
        "Custom domains, web ACLs, private APIs, networks, and KMS keys of the stored data",
        "this profile synthesizes none of them, and moto would neither route nor encrypt by them",
        "tests read the templates of these settings, cdk-nag and cfn-lint check them; how AWS routes, blocks and decrypts was not seen",
    ),
    Gap(
        "tenant-credentials",
        "Credentials of one tenant (`tenantCredentials=narrowed`)",
        "moto issues sessions and checks no permissions",
        "a test lets two tenants live here and compares each call, and who signed it, with the conditions on `dynamodb:LeadingKeys` and names of objects",
    ),
)
