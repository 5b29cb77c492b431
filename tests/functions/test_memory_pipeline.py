"""Memory on AWS, from end to end in this process: what is written is told by the stream, indexed, and found; files come by the
bucket.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import requests

from functions.index_memory.handler import handler
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.base import JsonObject
from hibernaut.services.per_tenant import PerTenant
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings
from tests.functions.conftest import sample
from tests.support.agent_file_parts import file_of, message, talked
from tests.support.clocks import LaterClock

TENANT = "default"


class Memory:
    """A deployment, asked as its clients ask, and what its index knows."""

    def __init__(self, aws: OfflineAws) -> None:
        self.aws = aws

    def ask(self, method: str, path: str, body: Any = None, *, query: str = "", status: int = 200) -> Any:
        headers = [("Content-Type", "application/json"), ("Host", "localhost")]
        payload = json.dumps(body).encode() if body is not None else b""
        answer = self.aws.gateway.answer(GatewayRequest(method, path, query, headers, payload))
        assert answer.status == status, answer.body
        return json.loads(answer.body) if answer.body else None

    def agent(self) -> str:
        return str(self.ask("POST", "/v1/agents/", {"name": "keeper"})["id"])

    def keep(self, agent: str, text: str) -> str:
        """A passage of the agent's; its id."""
        return str(self.ask("POST", f"/v1/agents/{agent}/archival-memory", {"text": text})[0]["id"])

    def found(self, agent: str, words: str) -> list[str]:
        reply = self.ask("GET", f"/v1/agents/{agent}/archival-memory/search", query=f"query={words}")
        return [hit["content"] for hit in reply["results"]]

    def known(self) -> set[str]:
        """The ids of the records that the index has."""
        index = index_of(AwsSettings.from_environment())
        assert index is not None
        return {state.id.rpartition("/")[2] for space in index.spaces() for state in index.states(space, TENANT)}


@pytest.fixture(scope="module")
def memory(aws: OfflineAws) -> Memory:
    return Memory(aws)


class Asleep:
    """An index that cannot be reached."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: object, **__: object) -> Any:
            self.asked += 1
            raise IndexAsleep(name)

        return refuse


def asleep(index: Any) -> wiring.IndexFeed:
    return wiring.feeding(AwsSettings.from_environment(), wiring.AwsOverrides(index=index))


def letters() -> list[JsonObject]:
    (queue,) = client("sqs").list_queues()["QueueUrls"]
    found = client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
    for letter in found:
        client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=letter["ReceiptHandle"])
    return [json.loads(letter["Body"]) for letter in found]


def test_what_is_written_is_found_at_once_and_indexed_when_the_stream_tells(memory: Memory) -> None:
    agent = memory.agent()
    passage = memory.keep(agent, "The spare key hangs behind the clock.")
    assert memory.found(agent, "spare+key") == ["The spare key hangs behind the clock."]
    assert passage not in memory.known()
    assert memory.aws.pump() > 0
    assert passage in memory.known()
    assert memory.aws.pump() == 0
    assert memory.found(agent, "spare+key") == ["The spare key hangs behind the clock."]


def test_what_is_deleted_is_forgotten_by_the_index(memory: Memory) -> None:
    agent = memory.agent()
    passage = memory.keep(agent, "The gate code is nine one four.")
    memory.aws.pump()
    memory.ask("DELETE", f"/v1/agents/{agent}/archival-memory/{passage}")
    memory.aws.pump()
    assert passage not in memory.known()
    assert memory.found(agent, "gate+code") == []


def test_a_record_told_twice_or_long_after_does_no_harm(memory: Memory) -> None:
    agent = memory.agent()
    passage = memory.keep(agent, "The attic is locked.")
    memory.aws.feeds._feeds[0]._at = None
    memory.aws.pump()
    memory.aws.feeds._feeds[0]._at = None
    assert memory.aws.pump() > 0
    assert passage in memory.known()


def test_while_the_index_sleeps_records_are_reported_back_and_one_failure_is_enough(memory: Memory) -> None:
    agent = memory.agent()
    passages = [memory.keep(agent, f"Shelf {number} holds jars.") for number in range(3)]
    index = Asleep()
    memory.aws.lambdas.deps["index_memory"] = asleep(index)
    try:
        told = memory.aws.pump()
    finally:
        del memory.aws.lambdas.deps["index_memory"]
    assert (told, index.asked) == (3, 1)
    assert memory.found(agent, "jars")
    assert memory.aws.pump() == 3
    assert set(passages) <= memory.known()


def test_what_the_stream_has_given_up_is_a_dead_letter_that_holds_no_text_and_is_taken_again_by_the_clock(memory: Memory) -> None:
    agent = memory.agent()
    passage = memory.keep(agent, "The well is dry.")
    letters()
    memory.aws.lambdas.deps["index_memory"] = asleep(Asleep())
    try:
        while memory.aws.pump():
            pass
    finally:
        del memory.aws.lambdas.deps["index_memory"]
    (letter,) = letters()
    assert "DDBStreamBatchInfo" in letter
    assert "well" not in json.dumps(letter)
    assert passage not in memory.known()
    feed = wiring.feeding(AwsSettings.from_environment(), wiring.AwsOverrides(clock=LaterClock(timedelta(minutes=10))))
    memory.aws.lambdas.deps["index_memory"] = feed
    try:
        assert memory.aws.fire_schedule("index_memory").payload == {"done": 1, "left": 0}
    finally:
        del memory.aws.lambdas.deps["index_memory"]
    assert passage in memory.known()


def test_the_clock_leaves_young_pointers_to_the_stream(memory: Memory) -> None:
    agent = memory.agent()
    memory.keep(agent, "The bell is cracked.")
    assert memory.aws.fire_schedule("index_memory").payload == {"done": 0, "left": 0}
    assert memory.aws.pump() == 1


def test_without_time_nothing_is_begun_and_all_is_told_again(memory: Memory) -> None:
    event = sample("index_memory", "two_pointers")

    class Hurried:
        aws_request_id = "r"

        def get_remaining_time_in_millis(self) -> int:
            return 5_000

    answer = handler(event, Hurried())
    numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == numbers


def test_the_index_is_built_anew_from_the_table(memory: Memory) -> None:
    agent = memory.agent()
    passage = memory.keep(agent, "The ladder is in the barn.")
    memory.aws.pump()
    index = index_of(AwsSettings.from_environment())
    assert index is not None
    before = memory.known()
    records = memory.aws.invoke("index_memory", sample("index_memory", "build_anew"))["records"]
    assert records >= len(before)
    assert memory.known() == set()
    standing = memory.aws.invoke("index_memory", sample("index_memory", "is_it_built"))
    assert (standing["whole"], standing["left"] > 0) == (False, True)
    assert "ladder" in memory.found(agent, "ladder")[0]
    memory.aws.pump()
    assert memory.aws.invoke("index_memory", sample("index_memory", "is_it_built")) == {"whole": True, "left": 0}
    assert memory.known() == before
    assert passage in before


def test_a_large_file_is_announced_put_into_the_bucket_and_read(memory: Memory) -> None:
    folder = memory.ask("POST", "/v1/folders/", {"name": "papers"})["id"]
    text = b"The harbour freezes in March. " * 40
    asked = {
        "file_name": "C:\\scans\\harbour.txt",
        "name": "reports/harbour",
        "file_size": len(text),
        "content_type": "text/plain",
    }
    announced = memory.ask("POST", f"/v1/folders/{folder}/upload-url", asked)
    file, upload = announced["file"], announced["upload"]
    assert file["original_file_name"] == "reports/harbour"
    assert (file["processing_status"], file["file_size"], upload["method"]) == ("pending", len(text), "PUT")
    assert upload["headers"] == {"Content-Length": str(len(text)), "Content-Type": "text/plain", "If-None-Match": "*"}
    put = requests.put(upload["url"], data=text, headers=upload["headers"], timeout=10)
    assert put.status_code == 200
    memory.aws.rules.wait()
    read = memory.ask("GET", f"/v1/folders/{folder}/files/{file['id']}")
    assert (read["processing_status"], read["chunks_embedded"]) == ("embedding", 0)
    memory.aws.pump()
    read = memory.ask("GET", f"/v1/folders/{folder}/files/{file['id']}")
    assert read["processing_status"] == "completed"
    assert read["chunks_embedded"] == read["total_chunks"] >= 1
    pieces = {piece["id"] for piece in memory.ask("GET", f"/v1/folders/{folder}/passages")}
    assert pieces
    assert pieces <= memory.known()


def test_a_large_agent_file_is_put_into_the_bucket_and_imported(memory: Memory) -> None:
    document = json.dumps(file_of(talked(message(1, "user", "Hi")))).encode()
    announced = memory.ask("POST", "/v1/agents/import/upload-url", {"file_size": len(document)})
    asked = {"upload_id": announced["upload_id"], "name": "Uploaded"}
    assert "No agent file was uploaded" in memory.ask("POST", "/v1/agents/import", asked, status=404)["detail"]
    upload = announced["upload"]
    assert requests.put(upload["url"], data=document, headers=upload["headers"], timeout=10).status_code == 200
    (agent_id,) = memory.ask("POST", "/v1/agents/import", asked)["agent_ids"]
    assert memory.ask("GET", f"/v1/agents/{agent_id}")["name"] == "Uploaded"
    memory.ask("POST", "/v1/agents/import", {"upload_id": "import-x"}, status=404)
    memory.ask("POST", "/v1/agents/import/upload-url", {"file_size": 60_000_000}, status=413)


def test_a_file_that_was_announced_and_never_came_ends_in_an_error(memory: Memory) -> None:
    folder = memory.ask("POST", "/v1/folders/", {"name": "promises"})["id"]
    asked = {"file_name": "never.txt", "file_size": 5}
    file = memory.ask("POST", f"/v1/folders/{folder}/upload-url", asked)["file"]
    memory.aws.invoke("ingest_file", {"tenant": TENANT, "file_id": file["id"]})
    read = memory.ask("GET", f"/v1/folders/{folder}/files/{file['id']}")
    assert read["processing_status"] == "error"
    assert "Upload it again" in read["error_message"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"file_name": "a.txt", "file_size": 10**9}, 413),
        ({"file_name": "a.exe", "file_size": 10}, 415),
        ({"file_name": "..", "file_size": 10}, 400),
        ({"file_name": "a.txt", "file_size": 0}, 422),
    ],
)
def test_what_could_not_be_read_is_not_announced(memory: Memory, asked: JsonObject, status: int) -> None:
    folder = memory.ask("POST", "/v1/folders/", {"name": f"refused {status}"})["id"]
    memory.ask("POST", f"/v1/folders/{folder}/upload-url", asked, status=status)
    assert memory.ask("GET", f"/v1/folders/{folder}/files") == []


def test_a_name_that_the_folder_has_is_skipped_where_that_is_asked_for(memory: Memory) -> None:
    folder = memory.ask("POST", "/v1/folders/", {"name": "twice"})["id"]
    asked = {"file_name": "a.txt", "file_size": 5, "duplicate_handling": "skip"}
    first, second = (memory.ask("POST", f"/v1/folders/{folder}/upload-url", asked) for _ in range(2))
    assert second == {"file": first["file"], "upload": None}


def test_other_blobs_of_the_bucket_are_told_nobody(memory: Memory) -> None:
    seen: list[JsonObject] = []

    class Noting:
        def __init__(self, tenant: str) -> None:
            self.tenant = tenant

        def process(self, file_id: str) -> None:
            seen.append({"tenant": self.tenant, "file_id": file_id})

    memory.aws.lambdas.deps["ingest_file"] = PerTenant(Noting)
    try:
        for key in ("files/default/file-1", "uploads/default/file-2", "texts/default/file-3/000000"):
            client("s3").put_object(Bucket=memory.aws.stack.outputs["BucketName"], Key=key, Body=b"x")
        memory.aws.rules.wait()
    finally:
        del memory.aws.lambdas.deps["ingest_file"]
    assert seen == [{"tenant": "default", "file_id": "file-2"}]
