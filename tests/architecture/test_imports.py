"""The layers hold, and starting the local server loads no vendor's SDK. Asks fresh interpreters, since this one has loaded
everything.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import PRODUCT, ROOT, files, name, parsed

# Whatever stands behind an adapter is loaded at its first use: idle memory and cold starts pay for nothing else.
AT_FIRST_USE = (
    "anthropic",
    "aws_cdk",
    "boto3",
    "botocore",
    "cryptography",
    "httpx",
    "httpx2",
    "jwt",
    "mangum",
    "mcp",
    "mcp_types",
    "moto",
    "numpy",
    "openai",
    "opensearchpy",
)


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_layers_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


MODULES = (
    "hibernaut.rest.app",
    "hibernaut.wiring.settings",
    "hibernaut.wiring.embedded",
    "hibernaut.local.command",
)


@pytest.mark.parametrize("module", MODULES)
def test_vendors_wait_for_their_first_use(module: str) -> None:
    assert loaded_by(module).isdisjoint(AT_FIRST_USE)


HTTP_CLIENTS = {
    "shared/hibernaut/adapters/door.py": "addresses that clients, models and pages name",
    "shared/hibernaut/adapters/pinned_transport.py": "the transport of the door",
    "shared/hibernaut/adapters/model/wire/provider_client.py": "providers that the operator configures, and the usual addresses of the others",
    "shared/hibernaut/adapters/embedder/hosted/http_embedder.py": "the same providers",
    "shared/hibernaut/adapters/google_credentials.py": "Google's token service by the operator's credentials",
    "shared/hibernaut/adapters/tracing/otlp.py": "the operator's collector",
    "shared/hibernaut/local/remote/agent_server.py": "a command of its user, who names the server",
    "shared/hibernaut/local/migrating/api.py": "another such command",
}
"""Who makes HTTP clients, and for whose addresses."""
MAKERS = {"Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport", "urlopen", "HTTPConnection", "HTTPSConnection"}


def test_outward_requests_pass_one_door() -> None:
    """A module that makes a client of its own connects wherever it is told, to the metadata service too."""
    made = set()
    for file in files(PRODUCT, "*.py"):
        if name(file).startswith("shared/hibernaut/local/aws_offline/"):  # stands in for AWS
            continue
        for node in ast.walk(parsed(file)):
            called = node.func if isinstance(node, ast.Call) else None
            if getattr(called, "id", getattr(called, "attr", None)) in MAKERS:
                made.add(name(file))
    assert made == set(HTTP_CLIENTS)


def test_schemas_and_domain_ask_neither_clock_nor_files_and_parse_addresses_alone() -> None:
    """What the contract of import-linter does not see: it knows packages (`urllib`), not their modules, and no built-in."""
    asking = []
    for file in files(("shared/hibernaut/schemas", "shared/hibernaut/domain"), "*.py"):
        for node in ast.walk(parsed(file)):
            match node:
                case ast.ImportFrom(module=str(module)) if module.startswith("urllib") and module != "urllib.parse":
                    asking.append((name(file), module))
                case ast.Import(names=names):
                    asking += [
                        (name(file), one.name) for one in names if one.name.startswith("urllib") and one.name != "urllib.parse"
                    ]
                case (
                    ast.Call(func=ast.Name(id="open" | "input" as called))
                    | ast.Call(func=ast.Attribute(attr="now" | "today" | "utcnow" as called))
                ):
                    asking.append((name(file), called))
    assert asking == []
