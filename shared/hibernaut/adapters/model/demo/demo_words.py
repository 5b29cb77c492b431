"""The language rules of the demo model: they recognize a request in a sentence, and turn a person's words into a note about them.

Plain text rules. Knows no tool and no message.
"""

from __future__ import annotations

import re
from typing import Literal

from hibernaut.schemas.immutable import immutable

WishKind = Literal["remember", "forget", "recall", "search", "archive", "look_up", "other"]

_POLITE = r"(?:(?:please|hey|hi|hello|ok|okay|so|and|now|could you|can you|will you|would you)[\s,!.]+)*"
_SENTENCES: tuple[tuple[WishKind, str], ...] = (
    ("look_up", r"(?:look|search|check) (?:in |through )?(?:your |the )?archiv\w*(?: memory)? (?:for|about) (?P<about>.+)"),
    ("look_up", r"(?:look|search) (?:up )?(?:for )?(?P<about>.+?) in (?:your|the) archiv\w*"),
    ("archive", r"archive(?: this| that|:)?[:,]?\s+(?P<about>.+)"),
    ("archive", r"(?:put|store|save|write) (?:this |that )?in(?:to)? (?:your|the) archive[:,]?\s+(?P<about>.+)"),
    (
        "search",
        r"search (?:in |through )?(?:our|the|your|my) (?:\w+ )?(?:conversations?|messages?|history|chat) (?:for|about) (?P<about>.+)",
    ),
    ("search", r"(?:search|look) (?:for )?(?P<about>.+?) in (?:our|the|your|my) (?:conversations?|messages?|history|chat)"),
    ("search", r"what did (?:we|i|you) (?:say|talk|tell you|write) about (?P<about>.+)"),
    ("recall", r"(?:do you |what do you )(?:still )?(?:know|remember)\b(?P<about>.*)"),
    ("recall", r"tell me (?:what you know )?about (?:me|myself)\b(?P<about>.*)"),
    ("recall", r"who am i\b(?P<about>.*)"),
    ("recall", r"(?:what|who|where|when|how|which)\b(?P<about>.*\b(?:my|i|me|mine)\b.*)"),
    ("forget", r"forget (?:about |that )?(?P<about>.+)"),
    (
        "remember",
        r"(?:remember|note|memori[sz]e|keep in mind|don'?t forget|do not forget)(?: down)?(?: that)?[:,]?\s+(?P<about>.+)",
    ),
    ("remember", r"(?P<about>call me .+)"),
    ("remember", r"(?P<about>my [\w' ]+? (?:is|are|was|were|has|have|likes?|loves?) .+)"),
    (
        "remember",
        r"(?P<about>(?:i am called|i'm called|i live|i work|i come from|i was born|i like|i love|i hate|i prefer|i have) .+)",
    ),
)
_PATTERNS = tuple((kind, re.compile(_POLITE + pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _SENTENCES)
_ABOUT_ME = re.compile(r"^\W*+(?:about (?:me|myself)|me|about us)?\W*+$", re.IGNORECASE)
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about am an and are at be called can did do does for from have has how i in is it its know like live lives me mine my myself"
        " name named of on or our remember s tell that the their them there they this to user users was we were what when where which"
        " who with you your",
    )
)
_AUXILIARY = "am|was|will|would|can|could|may|might|must|shall|should|did|had"
_UNCHANGED = frozenset(_AUXILIARY.split("|"))
_IRREGULAR = {"have": "has", "do": "does", "go": "goes"}


@immutable
class Wish:
    """What a person wants, and its subject: the rest of the sentence in the person's own words."""

    kind: WishKind
    about: str = ""


def wish(text: str) -> Wish:
    """The wish in a text, searched in the whole text and then sentence by sentence; `other` if none is recognized."""
    parts = [text.strip(), *re.split(r"(?<=[.!?])\s+", text.strip())]
    return next((found for part in parts if (found := _understood(part))), Wish("other", text.strip()))


def _understood(sentence: str) -> Wish | None:
    for kind, pattern in _PATTERNS:
        found = pattern.match(sentence)
        if not found or (kind == "remember" and sentence.endswith("?")):
            continue
        about = found["about"].strip().rstrip("?").strip()
        return Wish(kind, "" if kind == "recall" and _ABOUT_ME.match(about) else about)
    return None


def fact(words: str) -> str:
    """The person's words as a note about them: "my dog is called Rex" becomes "The user's dog is called Rex."."""
    note = words.strip().rstrip(".!").strip()
    note = re.sub(r"^call me\b", "the user's name is", note, flags=re.IGNORECASE)
    note = re.sub(r"\bI(?:'m| am)\b", "the user is", note, flags=re.IGNORECASE)
    note = re.sub(r"\bI've\b", "the user has", note, flags=re.IGNORECASE)
    note = re.sub(r"\bI\s+([a-z]+)", lambda found: f"the user {_third_person(found[1])}", note, flags=re.IGNORECASE)
    for first, third in (("my", "the user's"), ("mine", "the user's"), ("me", "the user"), ("myself", "the user")):
        note = re.sub(rf"\b{first}\b", third, note, flags=re.IGNORECASE)
    return f"{note[:1].upper()}{note[1:]}." if note else ""


def _third_person(verb: str) -> str:
    low = verb.lower()
    if low in _UNCHANGED or low.endswith("ed"):
        return verb
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    if low.endswith("y") and low[-2:-1] not in ("a", "e", "o", "u", ""):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def matching(lines: list[str], about: str) -> list[str]:
    """The lines that share the most significant words with `about`, in order; none if they share no word."""
    significant = _weighty(about)
    scores = [len(significant & _weighty(line)) for line in lines]
    best = max(scores, default=0)
    return [line for line, score in zip(lines, scores, strict=True) if best and score == best]


def _weighty(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"\w+", text.lower()) if word not in _STOP_WORDS}
