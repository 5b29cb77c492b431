"""The dialogue corpus: four conversations of two people each, with one text for each turn, and questions that particular turns
answer.

`dialogues.txt` contains the conversations and the questions. Twice as many generated turns answer no question: small talk of the
same two people about the same topics, so that a name or a topic alone does not find an answer. The small talk follows each
session, so that the turn before an answer remains the one that was spoken before it. The corpus is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.retrieval.corpora import Corpus, Question

SMALL_TALK_PER_TURN = 2
_TOPICS = {
    "Nadia": (
        "boiler",
        "twins",
        "pottery class",
        "dog",
        "college",
        "Rotterdam",
        "tent",
        "references",
        "choir",
        "curtains",
        "anatomy",
    ),
    "Ines": ("potatoes", "pigeons", "tomatoes", "shed", "wedding", "marrow", "knee", "bird box", "council", "compost", "jelly"),
    "Kofi": ("budget", "puppets", "brass band", "sofa", "stone wall", "generator", "hospital", "ring", "barn", "tent", "river"),
    "Yuki": ("laptop", "deployments", "fjord", "report", "bees", "migration", "cat", "boat", "lamp", "pizza", "auditor"),
}
_SMALL_TALK = (
    "I was just telling somebody about the {topic}, of all things.",
    "Do not get me started on the {topic} again!",
    "Ha, that reminds me of the {topic}. But go on.",
    "What do you mean by that, {other}?",
    "Sorry, the phone rang. Where were we?",
    "Honestly, {other}, sometimes I wonder how you manage.",
    "I saw a film last night that had a {topic} in it. It was awful.",
    "Will you tell me more about the {topic} one day?",
    "The weather here is dreadful this week. How is it with you?",
    "My neighbour asked about the {topic}. I did not know what to say.",
    "That sounds like a plan, {other}.",
    "I have been so tired lately, I could sleep standing up.",
    "Let us not talk about the {topic} today, please.",
    "You always say that, {other}!",
    "Remind me to ask you about the {topic} next time.",
    "I had soup for lunch and thought of you.",
    "Everybody seems to have an opinion on the {topic}.",
)


@dataclass(slots=True)
class Turn:
    """A turn: the conversation, the day, the speaker and the text."""

    conversation: int
    day: date
    speaker: str
    text: str


@dataclass(slots=True)
class Dialogues:
    """All turns in order, and the questions: kind ("plain", "paraphrase"), text, and the positions of the turns that answer
    it.
    """

    turns: list[Turn] = field(default_factory=list)
    questions: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)


def corpora() -> list[Corpus]:
    """One corpus for each kind of question, over the same turns as texts of the form "Name: text"."""
    found = dialogues()
    texts = tuple(f"{turn.speaker}: {turn.text}" for turn in found.turns)
    asked = {
        kind: tuple(Question(kind, *rest) for own, *rest in found.questions if own == kind) for kind in ("plain", "paraphrase")
    }
    return [
        Corpus("dialogue, plainly asked", texts, asked["plain"]),
        Corpus("dialogue, paraphrased", texts, asked["paraphrase"]),
    ]


def dialogues() -> Dialogues:
    found, conversation, day, pair = Dialogues(), -1, date.min, ("", "")
    named, spoken = dict[str, int](), 0
    for line in Path(__file__).with_name("dialogues.txt").read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("=", "@") and spoken:
            _add_small_talk(found, pair, spoken)
            spoken = 0
        if mark == "=":
            first, _, second = rest.partition(" & ")
            conversation, pair = conversation + 1, (first, second)
        elif mark == "@":
            day, named = date.fromisoformat(rest), {}
        elif mark in ("?", "??"):
            names, _, question = rest.partition(": ")
            kind = "plain" if mark == "??" else "paraphrase"
            found.questions.append((kind, question, tuple(named[name] for name in names.split())))
        elif mark != "#":
            text = rest
            if text.startswith("["):
                named[text[1]] = len(found.turns)
                text = text[4:]
            found.turns.append(Turn(conversation, day, mark.rstrip(":"), text))
            spoken += 1
    _add_small_talk(found, pair, spoken)
    return found


def _add_small_talk(found: Dialogues, pair: tuple[str, str], spoken: int) -> None:
    """Append small talk to the last session, which has `spoken` turns."""
    last, start = found.turns[-1], len(found.turns)
    found.turns += [_small_talk(start + more, last.conversation, last.day, pair) for more in range(SMALL_TALK_PER_TURN * spoken)]


def _small_talk(place: int, conversation: int, day: date, pair: tuple[str, str]) -> Turn:
    speaker, other = pair if place % 2 else pair[::-1]
    topics = _TOPICS[pair[0]]
    text = _SMALL_TALK[place * 5 % len(_SMALL_TALK)].format(topic=topics[place * 7 % len(topics)], other=other)
    return Turn(conversation, day, speaker, text)
