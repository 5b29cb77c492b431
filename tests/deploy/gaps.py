"""What a rehearsed deployment cannot show, and what stands in for it.

`docs/aws.md` says the same to users; a test compares the two. `emulator_process` has the adaptations that some rows name.
"""

from __future__ import annotations

from tests.compat.offline_gaps import Gap

DEPLOY_GAPS = (
    Gap(
        "permissions",
        "Roles, trust policies and the gateway's list of callers",
        "the emulator evaluates no policy",
        "every call of a handler is compared with the statements of its role (`tests/functions`)",
    ),
    Gap(
        "web-adapter",
        "The Lambda Web Adapter",
        "its layer belongs to another account, so the check runs `stream` by the handler of `api`",
        "a test starts the web server that the function starts",
    ),
    Gap(
        "streaming",
        "Replies that arrive piece by piece",
        "the emulator returns a reply when it is whole, and knows no streaming invocation, so the check maps it to the buffered one",
        "the local gateway of `aws-offline` forwards pieces",
    ),
    Gap(
        "websockets",
        "The WebSocket API (`websockets=true`)",
        "the rehearsal deploys the stack without it",
        "`aws-offline` loads its template and serves it; cfn-lint checks the template with it",
    ),
    Gap(
        "tenant-isolation",
        "The isolation of custom tools: tenants' environments, the sandbox's memory, no way to the network",
        "functions are processes of this machine",
        "a test reads the role and the function's settings",
    ),
    Gap(
        "tool-network",
        "The closed network of custom tools: routes, the endpoint's policy, the firewall of names",
        "the emulator describes a VPC and carries no packet through it, and it has no firewall of names, whose parts the check creates as names only",
        "tests read routes, rules and policies in the template; that packages are fetched through them was not seen",
    ),
    Gap(
        "architecture",
        "arm64 and Amazon Linux",
        "functions run on this machine, so the check installs packages for it",
        "the locks are resolved for both architectures",
    ),
    Gap(
        "buckets",
        "The refusal to delete a bucket that contains objects",
        "the emulator deletes it",
        "the check empties the bucket first, as the page says",
    ),
    Gap(
        "alarms",
        "Alarms over several metrics, and any alarm that fires",
        "the emulator has no metric math, so the check creates such an alarm on its first metric",
        "a test evaluates each alarm's expression with the metrics of the functions",
    ),
    Gap(
        "releases",
        "CodeDeploy, the weights of aliases, and the alarms that end a release by metrics",
        "the emulator knows none of them, so the check shifts an alias, gives the new version every tenth invocation, and sets the alarm's state",
        "tests read the deployment groups and evaluate the alarms; formats and the contract of the state machine are tested against the release before",
    ),
    Gap(
        "quotas",
        "Quotas of the account, and throttling",
        "the emulator has none; the check adds that of concurrent executions, by which an update fails",
        "nothing",
    ),
    Gap(
        "search",
        "The OpenSearch domain",
        "the emulator creates its description only, so searches go by words",
        "the contract suite of the index runs on a real node",
    ),
    Gap(
        "time",
        "Cold starts, latency, cost, the delay of change streams",
        "all services are one process of this machine",
        "`make bench` counts calls and measures imports",
    ),
)
