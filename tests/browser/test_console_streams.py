"""What a token costs the page: as much at the end of a long text, or below a long log, as at the beginning. Counted, not
timed.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import Held, Served, Visit

FRAGMENTS = (
    "\n",
    "\n\n",
    "\n \n",
    "```",
    "~~~",
    "```py\n",
    "\n```\n",
    "  ",
    "- one",
    "1. two",
    "words and *more*",
    "> said",
    "| a | b |",
    " ",
    "é",
)
"""Texts are made of these."""
TEXTS, LONGEST = 150, 24
PARAGRAPHS = 200
EDGES = {
    "a list": "\n".join(f"- item {place}" for place in range(600)),
    "code": "```py\n" + "\n".join(f"line({place})" for place in range(600)),
}
"""Long texts without a blank line, so that they are one piece."""
GROW = """async ([root, texts]) => {
  const {GrowingText, pieces} = await import(`${root}app/markdown.js`);
  const wrong = [];
  for (const text of texts) {
    const growing = new GrowingText();
    for (let end = 1; end <= text.length; end += 1) {
      growing.grow(text.slice(0, end), true);
      const now = [...growing.groups.flat(), ...(growing.tail ? [growing.tail] : [])];
      if (JSON.stringify(now) !== JSON.stringify(pieces(text.slice(0, end)).map((one) => one.text))) wrong.push(text.slice(0, end));
    }
  }
  return wrong;
}"""
REPLACE = """async ([root, versions]) => {
  const {GrowingText} = await import(`${root}app/markdown.js`);
  const growing = new GrowingText();
  return versions.map((text) => {
    growing.grow(text, false);
    return [...growing.groups.flat(), ...(growing.tail ? [growing.tail] : [])];
  });
}"""
READ = """async ([root, deltas]) => {
  const {GrowingText} = await import(`${root}app/markdown.js`);
  const growing = new GrowingText();
  let text = "";
  for (const delta of deltas) growing.grow((text += delta), true);
  return [growing.read, text.length];
}"""
WATCH = """() => {
  window.changed = [];
  new MutationObserver((changes) => {
    for (const {type, target, addedNodes} of changes) {
      for (const node of type === "childList" ? addedNodes : [target]) {
        const piece = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest(".piece");
        window.changed.push(piece?.parentElement ? [...piece.parentElement.children].indexOf(piece) : -1);
      }
    }
  }).observe(document.querySelector("[role=log]"), {subtree: true, childList: true, characterData: true});
}"""


def evaluated(page: Page, script: str, given: Any) -> Any:
    """What a script answers, which imports modules of the console below the root that it is given."""
    root = page.locator("script[src$='app/main.js']").evaluate("(one) => one.src.replace('app/main.js', '')")
    return page.evaluate(script, [root, given])


def test_a_growing_text_has_the_pieces_of_the_whole_text(visit: Visit) -> None:
    chance = random.Random(7)
    texts = ["".join(chance.choices(FRAGMENTS, k=chance.randint(1, LONGEST))) for _ in range(TEXTS)]
    assert evaluated(visit.open(), GROW, texts) == []


def test_a_text_that_is_replaced_has_its_own_pieces(visit: Visit) -> None:
    versions = ["One\n\nTwo", "Two\n\nTwo", "Two", "Two\n\nTwo\n\nThree", ""]
    assert evaluated(visit.open(), REPLACE, versions) == [["One", "Two"], ["Two", "Two"], ["Two"], ["Two", "Two", "Three"], []]


def test_a_token_is_read_with_its_piece_alone(visit: Visit) -> None:
    words = [f"word {place} " + ("\n\n" if place % 10 == 9 else "") for place in range(3000)]
    read, length = evaluated(visit.open(), READ, words)
    longest_piece = 10 * len("word 2999 ") + 2
    assert read <= len(words) * 2 * longest_piece
    assert read < length * length / 100


def test_a_token_changes_the_last_pieces_of_its_message_alone(visit: Visit, served: Served) -> None:
    told = tuple(f"Paragraph {place} has *words*.\n\n" for place in range(PARAGRAPHS))
    scene = Held(told, stop=PARAGRAPHS // 2)
    served.director.when("Tell", scene)
    page = visit.chat(served.agent())
    visit.send("Tell me everything")
    assert scene.arrived.wait(60)
    # A piece is settled when another one begins after it.
    expect(page.get_by_role("log").get_by_text(f"Paragraph {PARAGRAPHS // 2 - 2} has")).to_be_visible()
    page.evaluate(WATCH)
    scene.go.set()
    expect(page.get_by_role("log").get_by_text(f"Paragraph {PARAGRAPHS - 2} has")).to_be_visible()
    changed = page.evaluate("window.changed")
    assert len(changed) > 10
    assert [place for place in changed if 0 <= place < PARAGRAPHS // 2 - 5] == []
    expect(page.get_by_role("log").locator("em")).to_have_count(PARAGRAPHS)


@pytest.mark.parametrize("kind", EDGES)
def test_a_long_piece_is_shown_whole_while_it_grows(visit: Visit, served: Served, kind: str) -> None:
    text = EDGES[kind]
    scene = Held(tuple(text[at : at + 40] for at in range(0, len(text), 40)), stop=len(text) // 40 - 5)
    served.director.when("Long", scene)
    page = visit.chat(served.agent())
    visit.send("Long piece")
    assert scene.arrived.wait(60)
    shown = page.get_by_role("log").locator(".piece")
    before = text[: 40 * (len(text) // 40 - 5)].splitlines()[-60].removeprefix("- ")
    expect(shown).to_contain_text(before)
    scene.go.set()
    expect(page.get_by_role("log").locator(".pending-dot")).to_have_count(0)
    expect(shown).to_contain_text(text.splitlines()[-1].removeprefix("- "))
