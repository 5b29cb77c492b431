"""Folders and their files through the SDK (Letta V1 API, API 2.12, 3 and 4.10)."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import (
    APIStatusError,
    BadRequestError,
    ConflictError,
    Letta,
    NotFoundError,
    UnprocessableEntityError,
)

from hibernaut.rest.dependencies import Services
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.services.files.files import Upload
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.compat.conftest import Make
from tests.compat.reading import read, until_read, uploaded
from tests.support import documents

pytestmark = pytest.mark.usefixtures("fed")

MISSING = "source-00000000-0000-4000-8000-000000000000"
NO_BLOCK = "block-00000000-0000-4000-8000-000000000000"
NO_FILE = "file-00000000-0000-4000-8000-000000000000"
POEM = "# Parrots\n\nThe first is green.\nThe second is blue.\n"


@pytest.mark.manifest("folders.create", "folders.retrieve", "folders.update", "folders.delete", "folders.names")
@pytest.mark.deployed
def test_a_folder_is_made_read_changed_and_deleted(client: Letta) -> None:
    folder = client.folders.create(name="birds", description="of all kinds", instructions="Read them.", metadata={"a": 1})
    assert folder.id.startswith("source-")
    assert (folder.name, folder.description, folder.instructions) == ("birds", "of all kinds", "Read them.")
    assert folder.metadata == {"a": 1}
    assert client.folders.retrieve(folder.id) == folder
    with pytest.raises(ConflictError, match="'birds' already exists"):
        client.folders.create(name="birds")
    other = client.folders.create(name="bees")
    with pytest.raises(ConflictError):
        client.folders.update(other.id, name="birds")
    after = client.folders.update(folder.id, name="all birds")
    assert (after.name, after.description) == ("all birds", "of all kinds")
    assert client.folders.create(name="birds").id != folder.id, "the old name is free again"
    assert client.folders.delete(folder.id) is None
    for gone in (client.folders.retrieve, client.folders.delete, client.folders.update):
        with pytest.raises(NotFoundError):
            gone(folder.id)
    assert [one.id for one in client.folders.list(name="all birds")] == []


@pytest.mark.manifest("folders.create.embedding")
def test_how_a_folder_embeds_is_said_when_it_is_made(client: Letta, http: httpx.Client) -> None:
    handles = [model.handle for model in client.models.embeddings.list()]
    made = client.folders.create(name="by default")
    assert (made.embedding_config.handle if made.embedding_config else None) == (handles[0] if handles else None)
    config: Any = {"embedding_model": "m", "embedding_endpoint_type": "openai", "embedding_dim": 8}
    given = client.folders.create(name="by config", embedding_config=config)
    assert given.embedding_config.embedding_dim == 8
    with pytest.raises(ConflictError):
        client.folders.update(given.id, embedding_config={**config, "embedding_dim": 16})
    for null in ({"embedding": None}, {"embedding_config": None}):
        folder = http.post("/v1/folders/", json={"name": f"by words {[*null]}", **null}).json()
        assert folder["embedding_config"] is None
        assert uploaded(client, folder["id"], "poem.md", POEM.encode()).processing_status == "completed"
    with pytest.raises(NotFoundError, match="nobody/nothing"):
        client.folders.create(name="by no handle", embedding="nobody/nothing")
    assert http.post("/v1/folders/", json={"name": "n", "extra": 1}).status_code == 422, "unknown keys are refused"
    assert http.post("/v1/folders/", json={}).status_code == 422


@pytest.mark.manifest("folders.list", "folders.count", "folders.by_name", "folders.metadata")
@pytest.mark.deployed
def test_folders_are_listed_in_pages_counted_and_found(client: Letta, http: httpx.Client) -> None:
    before = http.get("/v1/folders/count").json()
    made = [client.folders.create(name=f"page {number}").id for number in range(4)]
    assert http.get("/v1/folders/count").json() == before + 4
    assert [one.id for one in client.folders.list(name="page 2")] == [made[2]]
    assert [one.id for one in client.folders.list(limit=2, after=made[0])] == made[1:], "the SDK follows the cursor"
    assert [one.id for one in client.folders.list(order="desc", limit=2).items] == made[:1:-1]
    assert http.get("/v1/folders/name/page 3").json() == made[3]
    assert http.get("/v1/folders/name/nothing").status_code == 404
    with pytest.raises(NotFoundError):
        client.folders.list(after=MISSING)
    with pytest.raises(UnprocessableEntityError):
        client.folders.retrieve("source-1")
    assert http.get("/v1/folders/metadata").status_code == 422


@pytest.mark.manifest("folders.upload", "folders.files.retrieve", "folders.files.list", "folders.files.delete")
@pytest.mark.deployed
def test_a_file_is_sent_read_listed_and_deleted(client: Letta) -> None:
    folder = client.folders.create(name="uploads")
    sent = client.folders.files.upload(folder.id, file=("poem.md", POEM.encode(), "text/markdown"))
    assert (sent.processing_status, sent.file_name, sent.original_file_name) == ("parsing", "uploads/poem.md", "poem.md")
    assert (sent.source_id, sent.file_size, sent.file_type) == (folder.id, len(POEM), "text/markdown")
    file = read(client, sent)
    assert (file.processing_status, file.total_chunks, file.chunks_embedded) == ("completed", 1, 1)
    assert (file.content, file.error_message) == (POEM, None)
    assert client.folders.files.retrieve(sent.id, folder_id=folder.id).content is None
    other = uploaded(client, folder.id, "other.txt", b"x")
    assert [one.id for one in client.folders.files.list(folder.id)] == [other.id, sent.id], "the newest first"
    assert [one.file_name for one in client.folders.files.list(folder.id, order="asc", limit=1)] == ["poem.md", "other.txt"]
    assert [one.content for one in client.folders.files.list(folder.id, include_content=True)] == ["x", POEM]
    assert client.folders.files.delete(sent.id, folder_id=folder.id) is None
    assert [one.id for one in client.folders.files.list(folder.id)] == [other.id]
    with pytest.raises(NotFoundError):
        client.folders.files.retrieve(sent.id, folder_id=folder.id)
    with pytest.raises(NotFoundError):
        client.folders.files.delete(sent.id, folder_id=folder.id)
    with pytest.raises(NotFoundError):
        client.folders.files.upload(MISSING, file=("a.txt", b"x", "text/plain"))
    with pytest.raises(NotFoundError):
        client.folders.files.retrieve(other.id, folder_id=client.folders.create(name="not its own").id)


@pytest.mark.manifest("folders.upload.duplicates")
def test_an_upload_says_what_becomes_of_a_name_that_is_there(client: Letta, http: httpx.Client) -> None:
    folder = client.folders.create(name="doubles")

    def send(text: str, **query: Any) -> httpx.Response:
        files = {"file": ("a.txt", text.encode(), "text/plain")}
        return http.post(f"/v1/folders/{folder.id}/upload", files=files, params=query)

    first = send("1").json()
    again = send("2").json()
    assert (again["file_name"], again["original_file_name"]) == ("doubles/a_(1).txt", "a.txt")
    assert send("3").json()["file_name"] == "doubles/a_(2).txt"
    skipped = send("4", duplicate_handling="skip")
    assert (skipped.json()["id"], skipped.headers["x-upload-result"]) == (first["id"], "skipped")
    assert send("5", duplicate_handling="error").status_code == 409
    replaced = send("6", duplicate_handling="replace").json()
    assert (replaced["file_name"], replaced["id"] == first["id"]) == ("doubles/a.txt", False)
    assert http.get(f"/v1/folders/{folder.id}/files/{first['id']}").status_code == 404
    assert send("7", name="named.txt").json()["file_name"] == "doubles/named.txt"
    assert send("8", duplicate_handling="other").status_code == 422
    assert len(client.folders.files.list(folder.id).items) == 4


@pytest.mark.manifest("folders.upload.formats")
@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.py", b"def f():\n    return 1\n", "def f():\n    return 1\n"),
        ("a.json", b'{"a": 1}', '{"a": 1}'),
        ("a.csv", b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("bom.txt", "Grüße".encode("utf-16"), "Grüße"),
        (
            "latin.txt",
            "Grüße aus Köln, schöne Grüße an alle Freunde".encode("cp1252"),
            "Grüße aus Köln, schöne Grüße an alle Freunde",
        ),
        (
            "a.html",
            b"<html><head><title>T</title></head><body><h1>Hi</h1><p>One &amp; two</p></body></html>",
            "T\n\n# Hi\n\nOne & two",
        ),
        ("a.pdf", documents.pdf("The first page", "The second page"), "The first page\n\nThe second page"),
        ("a.docx", documents.docx(documents.paragraph("One") + documents.paragraph("Two")), "One\nTwo"),
        ("empty.txt", b"", ""),
    ],
)
@pytest.mark.deployed
def test_texts_code_pages_and_documents_are_read(client: Letta, name: str, data: bytes, expected: str) -> None:
    folder = client.folders.create(name=f"formats {name}")
    file = uploaded(client, folder.id, name, data, "application/octet-stream")
    assert (file.processing_status, file.error_message, file.content) == ("completed", None, expected)


@pytest.mark.manifest("folders.upload.failures")
@pytest.mark.parametrize(
    ("name", "made", "why"),
    [
        ("bomb.pdf", lambda: documents.zipped("a", b"0" * 10_000_000), "no PDF"),
        ("locked.pdf", lambda: documents.locked_pdf("secret"), "password"),
        ("scanned.pdf", lambda: documents.pdf(""), "no text"),
        ("bomb.docx", lambda: documents.zipped("word/document.xml", b" " * 120_000_000), "100 MB"),
        ("none.docx", lambda: b"no archive", "damaged"),
        ("binary.txt", lambda: bytes(range(256)) * 8, "no text"),
    ],
)
@pytest.mark.deployed
def test_a_file_that_cannot_be_read_says_why_and_keeps_no_other_waiting(
    client: Letta, name: str, made: Callable[[], bytes], why: str
) -> None:
    """The files are made here and not with the module, which every worker imports: one is 120 MB before it is packed."""
    folder = client.folders.create(name=f"failures {name}")
    bad = client.folders.files.upload(folder.id, file=(name, made(), "application/octet-stream"))
    good = uploaded(client, folder.id, "good.txt", b"good")
    assert good.processing_status == "completed"
    bad = read(client, bad)
    assert (bad.processing_status, bad.content) == ("error", None)
    assert why in bad.error_message


@pytest.mark.manifest("folders.upload.name")
def test_a_file_has_the_name_and_the_path_that_its_sender_chooses(client: Letta, new_agent: Make) -> None:
    folder, agent = client.folders.create(name="chosen"), new_agent()
    client.agents.folders.attach(folder.id, agent_id=agent.id)

    def send(name: str, text: str) -> Any:
        upload = ("tmp1.py", text.encode(), "application/octet-stream")
        return read(client, client.folders.files.upload(folder.id, file=upload, name=name))

    names = ["src/a/__init__.py", "src/b/__init__.py", "notes"]
    first, second, plain = (send(name, f"# this is {name}") for name in names)
    assert [(one.file_name, one.original_file_name) for one in (first, second, plain)] == [(name, name) for name in names]
    again = client.folders.files.upload(folder.id, file=("x.py", b"# again"), name=names[0])
    assert again.file_name == "chosen/src/a/__init___(1).py"
    with pytest.raises(ConflictError, match="already exists"):
        client.folders.files.upload(folder.id, file=("x.py", b"# again"), name=names[0], duplicate_handling="error")
    client.folders.files.delete(again.id, folder_id=folder.id)
    blocks = client.agents.retrieve(agent.id, include=["agent.blocks"]).memory.file_blocks or []
    assert {one.label for one in blocks} == {f"chosen/{name}" for name in names}
    client.agents.tools.run("open_files", agent_id=agent.id, args={"file_requests": [{"file_name": "src/b/__init__.py"}]})
    opened = client.agents.files.list(agent.id).files
    assert {one.file_name: "this is src/b" in (one.visible_content or "") for one in opened}["chosen/src/b/__init__.py"]
    (copy,) = client.agents.import_file(file=("a.af", client.agents.export_file(agent.id).encode())).agent_ids
    copied = client.agents.files.list(copy).files
    assert {one.file_name.removeprefix(f"{one.folder_name}/") for one in copied} == set(names)


@pytest.mark.manifest("folders.upload.refused", "folders.upload.limit")
@pytest.mark.deployed
def test_what_cannot_be_taken_is_refused_and_leaves_nothing(client: Letta, http: httpx.Client) -> None:
    folder = client.folders.create(name="refused")

    def send(name: str, data: bytes = b"x", media_type: str = "application/octet-stream") -> httpx.Response:
        return http.post(f"/v1/folders/{folder.id}/upload", files={"file": (name, data, media_type)})

    assert send("a.exe").status_code == 415
    assert send("a.png", media_type="image/png").status_code == 415
    assert "PDF" in send("noending").json()["detail"]
    large = send("large.txt", b"x" * (51 * 1024 * 1024))
    assert (large.status_code, "MB" in large.text) == (413, True)
    assert http.post(f"/v1/folders/{folder.id}/upload").status_code == 422
    with pytest.raises(BadRequestError):
        client.folders.files.upload(folder.id, file=("a.txt", b"x"), name="../..")
    with pytest.raises(BadRequestError):
        client.folders.files.upload(folder.id, file=("a.txt", b"x"), name="a\n.txt")
    with pytest.raises(APIStatusError):
        client.folders.files.upload(folder.id, file=("a.txt", b"x"), name="x" * 300 + ".txt")
    assert client.folders.files.list(folder.id).items == []
    path = client.folders.files.upload(folder.id, file=("a.txt", b"x"), name="../../etc/passwd.txt")
    assert path.file_name == "refused/passwd.txt", "a path that leads elsewhere is cut to its last part"
    assert send("src/a.txt").json()["file_name"] == "refused/a.txt", "the name of the sent file is no choice"


@pytest.mark.manifest("folders.agents", "folders.passages")
@pytest.mark.deployed
def test_a_folder_knows_its_agents_and_its_pieces(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    folder, agent, other = client.folders.create(name="known"), new_agent(), new_agent()
    assert list(client.folders.agents.list(folder.id)) == []
    for one in (agent, other):
        client.agents.folders.attach(folder.id, agent_id=one.id)
    assert list(client.folders.agents.list(folder.id, order="asc")) == [agent.id, other.id]
    text = "\n\n".join(f"Paragraph {number} speaks of birds, of {number} birds to be exact." * 8 for number in range(20))
    file = uploaded(client, folder.id, "long.txt", text.encode())
    pieces = http.get(f"/v1/folders/{folder.id}/passages").json()
    assert len(pieces) == file.total_chunks == file.chunks_embedded > 1
    assert {(piece["file_id"], piece["source_id"]) for piece in pieces} == {(file.id, folder.id)}
    assert all(piece["text"] in text for piece in pieces)
    client.folders.delete(folder.id)
    assert list(client.agents.folders.list(agent.id)) == []
    with pytest.raises(NotFoundError):
        client.folders.agents.list(folder.id)


@pytest.mark.manifest("agents.create.default_source")
def test_an_agent_may_be_created_with_a_folder_of_its_own(client: Letta, new_agent: Make) -> None:
    other = client.folders.create(name="of others")
    agent = new_agent(name="Librarian", include_default_source=True, folder_ids=[other.id])
    shared, own = client.agents.folders.list(agent.id, order="asc").items
    assert (shared.id, own.name) == (other.id, "Librarian External Data Source")
    assert (own.embedding_config, client.folders.retrieve(own.id).name) == (agent.embedding_config, own.name)
    assert {"open_files", "grep_files", "semantic_search_files"} <= {tool.name for tool in agent.tools}
    assert [one.id for one in agent.sources] == [other.id, own.id]
    (second,) = client.agents.folders.list(new_agent(name="Librarian", include_default_source=True).id).items
    assert "Librarian" in second.name
    assert second.name != own.name, "folders have different names, agents need not"
    before = client.get("/v1/folders/count", cast_to=int)
    with pytest.raises(NotFoundError):
        new_agent(include_default_source=True, block_ids=[NO_BLOCK])
    assert client.get("/v1/folders/count", cast_to=int) == before


@pytest.mark.manifest("folders.upload.resumed")
def test_a_file_that_was_not_read_is_taken_up_by_the_next_start(tmp_path: Path) -> None:
    def face(house: Embedded) -> Services:
        return services_of(house.stores, house.host, house.engines).of("default")

    settings = EmbeddedSettings(data=tmp_path, default_embedding="none")
    house = Embedded(settings)
    house.ingest.close()  # nothing is read in the background
    folder = face(house).folders.create(CreateFolder(name="resumed"))
    upload = Upload(io.BytesIO(POEM.encode()), "poem.md", "text/markdown")
    sent = face(house).files.upload(folder.id, upload, "suffix").file
    house.close()
    with Embedded(settings) as again:
        files = face(again).files
        file = until_read(lambda: files.retrieve(folder.id, sent.id, content=True))
        assert (file.processing_status, file.content) == ("completed", POEM)
