"""Files and passages under Memory in a real browser: uploads by button and by drop, what is read of them, the agent's windows on
them, and what can be undone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from hibernaut.ports.memory.embedder import Vector
from tests.browser.chromium import PATIENCE
from tests.browser.console import Served, Visit, picture, serving
from tests.support.documents import locked_pdf
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder

MARK = "tulip"
GARDEN = "\n".join(f"Bed {number}: the {MARK} wants sun." for number in range(400))
DROP = """([over, name, text]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  const target = document.querySelector(over);
  for (const type of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(type, {dataTransfer: moved, bubbles: true, cancelable: true}));
}"""


class HeldEmbedder(HashingEmbedder):
    """Embeds texts with the mark only when the test lets it go on."""

    def __init__(self) -> None:
        super().__init__(dimension=384)  # as the folder's own model, whose place it takes
        self.go = threading.Event()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        if any(MARK in text for text in texts):
            assert self.go.wait(PATIENCE)
        return super().embed(texts, query=query)


@pytest.fixture
def embedder() -> Iterator[HeldEmbedder]:
    made = HeldEmbedder()
    yield made
    made.go.set()


@pytest.fixture
def served(tmp_path: Path, embedder: HeldEmbedder) -> Iterator[Served]:
    with serving(tmp_path / "data", embedders=OneEmbedder(embedder)) as house:
        try:
            yield house
        finally:
            embedder.go.set()


def files_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Files")


def row_of(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem", name=f"File {name}")


def choose(page: Page, button: Locator, name: str, content: bytes) -> None:
    with page.expect_file_chooser() as chooser:
        button.click()
    chooser.value.set_files([{"name": name, "mimeType": "text/plain", "buffer": content}])


def test_an_upload_is_followed_until_it_is_ready_and_its_window_is_shown(
    visit: Visit, served: Served, embedder: HeldEmbedder
) -> None:
    agent = served.agent("Gardener", max_files_open=1)
    page = visit.open(f"#/agents/{agent}/memory")
    files = files_of(page)
    expect(files.get_by_text("This agent has no files.")).to_be_visible()
    choose(page, files.get_by_role("button", name="Upload files"), "garden.txt", GARDEN.encode())
    garden = row_of(page, "garden.txt")
    expect(garden.get_by_text("searchable by words; meaning follows")).to_be_visible()
    expect(garden.get_by_text(re.compile(r"^0 of \d+ pieces"))).to_be_visible()
    expect(garden.get_by_role("progressbar", name="Progress of garden.txt")).to_be_visible()
    embedder.go.set()
    expect(garden.get_by_text("ready")).to_be_visible()
    expect(garden.get_by_role("progressbar")).to_have_count(0)
    [folder] = served.get(f"agents/{agent}/folders")
    assert folder["name"].startswith("Files of Gardener")
    choose(page, files.get_by_role("button", name=f"Upload into {folder['name']}"), "notes.txt", b"Water on Mondays.\n")
    notes = row_of(page, "notes.txt")
    expect(notes.get_by_text("ready")).to_be_visible()
    for opened, closed in ((notes, garden), (garden, notes)):
        if opened.get_by_role("button", name=re.compile("^Open ")).count():
            opened.get_by_role("button", name=re.compile("^Open ")).click()
        expect(opened.get_by_role("button", name=re.compile("^Close "))).to_be_visible()
        expect(closed.get_by_role("button", name=re.compile("^Open "))).to_be_visible()
        expect(files).to_contain_text("1 open of at most 1.")
    garden.get_by_role("button", name="Show what the agent sees of garden.txt").click()
    expect(garden.get_by_role("region", name="Window on garden.txt")).to_contain_text("Bed 3: the tulip wants sun.")
    page.set_viewport_size({"width": 700, "height": 440})
    page.evaluate("scrollTo(0, document.getElementById('files').getBoundingClientRect().top + scrollY - 110)")
    picture(page, "files", height=440)
    garden.get_by_role("button", name="Close garden.txt").click()
    expect(garden.get_by_text("closed")).to_be_visible()
    assert served.get(f"agents/{agent}/files?is_open=true")["files"] == []
    notes.get_by_role("button", name="Delete notes.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(notes).to_have_count(0)
    assert [one["original_file_name"] for one in served.get(f"folders/{folder['id']}/files")] == ["garden.txt"]


def test_a_file_that_is_dropped_on_a_folder_gets_there_and_what_cannot_be_read_says_why(visit: Visit, served: Served) -> None:
    agent = served.agent()
    ids = {name: served.post("folders/", {"name": name})["id"] for name in ("letters", "manuals")}
    for folder in ids.values():
        served.http.patch(f"/v1/agents/{agent}/folders/attach/{folder}")
    page = visit.open(f"#/agents/{agent}/memory")
    manuals = page.get_by_role("article", name="Folder manuals")
    expect(manuals.get_by_text("This folder is empty.")).to_be_visible()
    over = f'[data-folder="{ids["manuals"]}"]'
    page.evaluate(DROP, [over, "mower.md", "# The mower\n"])
    expect(manuals.get_by_role("listitem", name="File mower.md").get_by_text("ready")).to_be_visible()
    assert served.get(f"folders/{ids['letters']}/files") == []
    page.evaluate(DROP, [over, "song.mp3", "no text"])
    alert = files_of(page).get_by_role("alert")
    expect(alert).to_contain_text("status 415")
    expect(alert).to_contain_text("Choose a file of a kind and size that the server reads.")
    choose(page, page.get_by_role("button", name="Upload into manuals"), "secret.pdf", locked_pdf("a"))
    secret = manuals.get_by_role("listitem", name="File secret.pdf")
    expect(secret.get_by_text("could not be read")).to_be_visible()
    [reason] = [one["error_message"] for one in served.get(f"folders/{ids['manuals']}/files") if one["error_message"]]
    expect(secret).to_contain_text(reason)
    expect(secret.get_by_role("button", name=re.compile("^Open"))).to_have_count(0)


def test_folders_are_attached_and_detached_and_it_is_accessible(visit: Visit, served: Served) -> None:
    agent = served.agent()
    known = served.post("folders/", {"name": "known", "description": "What all agents read."})["id"]
    answer = served.http.post(f"/v1/folders/{known}/upload", files={"file": ("plan.txt", b"Plant in May.\n")})
    assert answer.is_success, answer.text
    page = visit.open(f"#/agents/{agent}/memory")
    page.get_by_role("button", name="Attach a folder").click()
    page.get_by_role("combobox", name="Folder").select_option("known")
    page.get_by_role("button", name="Attach", exact=True).click()
    folder = page.get_by_role("article", name="Folder known")
    expect(folder.get_by_role("button", name="Close plan.txt")).to_be_visible()
    expect(folder).to_contain_text("What all agents read.")
    assert visit.violations() == []
    folder.get_by_role("button", name="Detach known").click()
    expect(folder).to_have_count(0)
    assert served.get(f"agents/{agent}/folders") == []
    page.get_by_role("button", name="Undo").click()
    expect(folder.get_by_role("listitem", name="File plan.txt")).to_be_visible()
    page.get_by_role("button", name="Attach a folder").click()
    page.get_by_role("textbox", name="Name").fill("fresh")
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page.get_by_role("article", name="Folder fresh").get_by_text("This folder is empty.")).to_be_visible()
    assert {one["name"] for one in served.get(f"agents/{agent}/folders")} == {"known", "fresh"}


def test_passages_are_added_found_with_scores_deleted_and_brought_back(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    archive = page.get_by_role("region", name="Archival memory")
    for text in ("The spare key hangs behind the clock.", "Tomatoes need sun."):
        archive.get_by_role("button", name="New passage").click()
        page.get_by_role("textbox", name="Text", exact=True).fill(text)
        page.get_by_role("textbox", name="Tags").fill("house, notes")
        page.get_by_role("button", name="Add").click()
        expect(archive.get_by_text(text)).to_be_visible()
    archive.get_by_role("searchbox").fill("key")
    archive.get_by_role("button", name="Search").click()
    first = archive.get_by_role("listitem").first
    expect(first).to_contain_text("spare key")
    expect(first).to_contain_text(re.compile(r"score [01]\.\d+ · by words: number 1"))
    first.get_by_role("button", name="Delete this passage").click()
    expect(archive.get_by_text("spare key")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(archive.get_by_text("spare key")).to_be_visible()


@pytest.mark.parametrize("way", ["pointer", "keyboard"])
def test_what_can_be_undone_is_offered_as_long_as_somebody_is_on_it(visit: Visit, served: Served, way: str) -> None:
    agent = served.agent("Hesitating")
    served.http.patch(f"/v1/agents/{agent}/core-memory/blocks/human", json={"value": "Lives in Oslo."})
    visit.page.clock.install()
    page = visit.open(f"#/agents/{agent}/memory")
    human = page.get_by_role("article", name="Block human")
    human.get_by_role("button", name="History").click()
    human.get_by_role("button", name=re.compile("^1 ")).click()
    human.get_by_role("button", name="Bring version 1 back").click()
    undo = page.get_by_role("button", name="Undo")
    undo.hover() if way == "pointer" else undo.focus()
    page.clock.run_for(60_000)
    expect(undo).to_be_visible()
    page.mouse.move(0, 0) if way == "pointer" else undo.blur()
    page.clock.run_for(11_000)
    expect(undo).to_be_hidden()
