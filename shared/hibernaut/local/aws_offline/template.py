"""The template of one environment, synthesized with the same commands as for AWS, and cached by a hash of its sources.

Knows: where a checkout has its stack. Must not know: the content of the template.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hibernaut
from hibernaut.schemas.base import JsonObject

ENVIRONMENT = "dev"
CONTEXT = {"search": "domain", "bedrockModels": "none", "websockets": "true", "toolNetwork": "open"}
"""Memory is indexed here, because nothing costs anything. There is no Bedrock: a signature of the emulated account is of no use
there. Tools run on this machine, outside any VPC.
"""
# What `infra` is, and what it imports (a test compares); the functions' code runs from the checkout, whatever the hash of its
# asset is.
SOURCES = (
    "infra",
    "shared/hibernaut/adapters/cipher/kms.py",
    "shared/hibernaut/adapters/model/bedrock_endpoints.py",
    "shared/hibernaut/adapters/model/demo/demo.py",
    "shared/hibernaut/adapters/model/dialects.py",
    "shared/hibernaut/adapters/model/provider_settings.py",
    "shared/hibernaut/adapters/table/definition.py",
    "shared/hibernaut/adapters/tenant_sessions.py",
    "shared/hibernaut/domain/models/embedding_models.py",
    "shared/hibernaut/ports/storage/table.py",
    "shared/hibernaut/schemas/base.py",
    "shared/hibernaut/schemas/messages/frozen_prompt.py",
    "shared/hibernaut/schemas/models/model_call.py",
    "shared/hibernaut/services/host.py",
    "shared/hibernaut/store/events/event_keys.py",
    "shared/hibernaut/store/memory/search_outbox.py",
    "shared/hibernaut/store/table/blob_keys.py",
    "shared/hibernaut/store/versions/version_store.py",
    "shared/hibernaut/wiring/configuration/browser_settings.py",
    "shared/hibernaut/wiring/identity.py",
    "shared/hibernaut/wiring/engines/memory_index.py",
    "shared/hibernaut/wiring/outward.py",
    "shared/hibernaut/wiring/configuration/retention_settings.py",
    "shared/hibernaut/wiring/configuration/schedule_settings.py",
    "shared/hibernaut/wiring/settings.py",
    "shared/hibernaut/wiring/configuration/tool_settings.py",
    "shared/hibernaut/wiring/configuration/variables.py",
)


class NotACheckout(Exception):
    """The stack is not beside the package: the profile works only in a clone of the repository."""

    def __init__(self, root: Path) -> None:
        super().__init__(f"the profile aws-offline needs a checkout of Hibernaut: there is no infra/app.py in {root}")


class SynthesisFailed(Exception):
    """The CDK created no template; the message is its output."""


def checkout() -> Path:
    """The repository that this package runs from. Raises: NotACheckout."""
    root = Path(hibernaut.__file__).resolve().parents[2]
    if not (root / "infra" / "app.py").exists():
        raise NotACheckout(root)
    return root


def template_of(root: Path, environment: str = ENVIRONMENT) -> JsonObject:
    """The synthesized template; takes about six seconds if its sources have changed. Raises: SynthesisFailed."""
    cached = cached_template(root, environment)
    if not cached.exists():
        _synthesize(root, environment, cached)
    template: JsonObject = json.loads(cached.read_text(encoding="utf-8"))
    return template


def cached_template(root: Path, environment: str = ENVIRONMENT) -> Path:
    """The cache path of the template for these sources, whether or not it exists."""
    digest = hashlib.sha256(json.dumps([environment, CONTEXT]).encode())
    for file in _sources(root):
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return root / "build" / "aws-offline" / f"{digest.hexdigest()[:20]}.template.json"


def _sources(root: Path) -> Iterator[Path]:
    for source in SOURCES:
        place = root / source
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (file for file in files if file.is_file() and "__pycache__" not in file.parts)


def _synthesize(root: Path, environment: str, cached: Path) -> None:
    cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = [f"env={environment}", "check=false", *(f"{name}={value}" for name, value in CONTEXT.items())]
        context = [word for pair in settings for word in ("--context", pair)]
        command = [sys.executable, "-m", "infra.app", "--outdir", folder, *context]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        templates = list(Path(folder).glob("*.template.json"))
        if done.returncode != 0 or len(templates) != 1:
            raise SynthesisFailed(done.stderr.strip() or "the CDK wrote no template")
        # Renamed into place, so that another process sees a complete template or none.
        half = Path(shutil.copy(templates[0], cached.with_suffix(f".{Path(folder).name}")))
        half.rename(cached)
