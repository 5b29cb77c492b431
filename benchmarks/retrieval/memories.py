"""The memory corpus: facts that people tell an assistant, written for this purpose and dedicated to the public domain (CC0 1.0).

Each line of `questions.tsv` has a kind, a memory and a question that it answers. `unseen.tsv` has as many, which were written
later; no parameter was chosen by it alone. Further generated memories answer no question: other facts about six of the people,
and small talk with the words of the questions. The corpus is deterministic.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.retrieval.corpora import Corpus, Question

KINDS = ("words", "meaning", "name", "date", "distractor", "alike")
"""The kinds: the memory contains the question's words; it contains few or none; a name identifies it; a date is asked for or
given; other people did much the same; only a number or a rare word distinguishes it from two dozen similar memories.
"""

_PEOPLE = ("Jonas", "Amira", "Lena", "Viktor", "Mei", "Oscar")
_DONE = (
    "{who} wants a green {thing} for the kitchen.",
    "{who} asked whether the {thing} is still for sale.",
    "{who} said that the {thing} reminds her of home.",
    "{who} forgot the {thing} on the train to Hamburg.",
    "{who} repaired the {thing} with a friend on Sunday.",
    "{who} paid 40 euros for a used {thing}.",
)
_THINGS = ("kettle", "bicycle lamp", "bookshelf", "cat basket", "coffee grinder", "language course", "window seat", "winter coat")
_SAID = (
    "What do you think about {topic}?",
    "I read something about {topic} yesterday, but it was nothing special.",
    "Let us talk about {topic} another time, please.",
    "Someone at work would not stop talking about {topic}.",
)
_TOPICS = (
    "keys and locks",
    "routers",
    "cake recipes",
    "choirs",
    "car inspections",
    "allergies",
    "herbs and soap",
    "puppies",
    "birthdays",
    "hospitals",
    "the rent in the city",
    "blood pressure",
    "children",
    "languages",
    "museums",
    "exercise routines",
    "job interviews",
    "vegetarian diets",
    "mortgages",
    "cruises",
    "airports",
    "musical instruments",
    "schools",
    "heating",
    "driving tests",
    "thunderstorms",
    "church organs",
    "chess",
    "beehives",
    "deadlines in October",
    "the library in January",
    "comets",
    "passports",
)


_NUMBERS = tuple(1100 + 37 * each for each in range(24))
_PARTS = (
    "thumbnail worker",
    "mail gateway",
    "login page",
    "nightly export",
    "billing job",
    "search box",
    "photo upload",
    "price list",
)
_FAULTS = ("leaks memory", "answers too slowly", "loses the time zone")
_WARES = ("window panes", "oak boards", "roof tiles", "paint", "door handles", "copper pipe", "insulation", "screws")
_SURNAMES = [
    "Aldana",
    "Bergqvist",
    "Castellanos",
    "Dragomir",
    "Eriksen",
    "Fontaine",
    "Grabowski",
    "Haddad",
    "Iversen",
    "Jovanovic",
    "Kowalczyk",
    "Lombardi",
    "Mbeki",
    "Nakamura",
    "Okonkwo",
    "Petrov",
    "Quintero",
    "Rasmussen",
    "Szabo",
    "Tanaka",
    "Uribe",
    "Vasquez",
    "Wierzba",
    "Yilmaz",
]
_STREETS = ("Mill Lane", "Harbour Road", "Station Square", "Church Hill", "Garden Row", "Bridge Street")


def _alike() -> list[tuple[str, str]]:
    """Similar memories of four kinds that only a number or a name distinguishes, each with its question."""
    found = list[tuple[str, str]]()
    for place, number in enumerate(_NUMBERS):
        part, fault, ware = _PARTS[place % 8], _FAULTS[place % 3], _WARES[place * 3 % 8]
        name, street = _SURNAMES[place], _STREETS[place * 5 % 6]
        found.append((f"Ticket HX-{number}: the {part} {fault}.", f"What is ticket HX-{number} about?"))
        found.append(
            (
                f"Invoice {number + 4000} is for {ware} and was paid in {2015 + place % 9}.",
                f"What was bought with invoice {number + 4000}?",
            )
        )
        found.append((f"Mr. {name} from {street} ordered {ware} by telephone.", f"What did Mr. {name} order?"))
        found.append((f"Parcel number RK{number * 13} was left at {street}.", f"Where is parcel RK{number * 13}?"))
    return found


def memories() -> list[str]:
    """The memories with and without a question, mixed in a fixed order."""
    told = [memory for _, memory, _ in [*_rows("questions.tsv"), *_rows("unseen.tsv")]]
    others = [each.format(who=who, thing=thing) for who in _PEOPLE for each, thing in zip(_DONE * 2, _THINGS * 2, strict=False)]
    others += [each.format(topic=topic) for topic in _TOPICS for each in _SAID]
    others += [memory for memory, _ in _alike()]
    every, mixed = len(others) // len(told), list[str]()
    for place, memory in enumerate(told):
        mixed += [*others[place * every : (place + 1) * every], memory]
    return [*mixed, *others[len(told) * every :]]


def corpora() -> list[Corpus]:
    """One corpus for each file of questions, over the same memories."""
    alike = [("alike", memory, question) for memory, question in _alike()[::3]]
    texts = tuple(memories())
    return [
        Corpus("memories", texts, _asked([*_rows("questions.tsv"), *alike])),
        Corpus("memories, held out", texts, _asked(_rows("unseen.tsv"))),
    ]


def _asked(rows: list[tuple[str, str, str]]) -> tuple[Question, ...]:
    places = {memory: place for place, memory in enumerate(memories())}
    return tuple(Question(kind, question, (places[memory],)) for kind, memory, question in rows)


def _rows(file: str) -> list[tuple[str, str, str]]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return [(kind, memory, question) for kind, memory, question in (line.split("\t") for line in lines)]
