"""Clients of AWS have sessions of their own, and share what botocore reads from its files."""

from __future__ import annotations

from collections import Counter

import pytest
from botocore.config import Config
from botocore.loaders import JSONFileLoader

from hibernaut.adapters import aws_clients


def test_a_file_of_botocore_is_parsed_once_for_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    aws_clients._loader.cache_clear()
    parsed: Counter[str] = Counter()
    load = JSONFileLoader.load_file

    def counted(loader: JSONFileLoader, path: str) -> object:
        found = load(loader, path)
        parsed.update([path] if found is not None else [])
        return found

    monkeypatch.setattr(JSONFileLoader, "load_file", counted)
    clients = [aws_clients.aws_client(service, Config(), region="eu-central-1") for service in ("dynamodb", "kms", "kms")]
    assert any(path.endswith("endpoints") for path in parsed)
    assert {path: times for path, times in parsed.items() if times > 1} == {}
    assert len({id(client._loader) for client in clients}) == 1
