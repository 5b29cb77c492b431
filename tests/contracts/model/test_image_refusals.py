"""Images that a provider refuses leave the request, and the conversation goes on: for models without sight, and for an image that
nobody can read.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.adapters.model import image_refusals
from hibernaut.adapters.model.image_refusals import NOT_SHOWN, ImageRefusals, ImageTolerantModel
from hibernaut.ports.model import Delta
from hibernaut.schemas.content import Base64Image, ImageContent, TextContent, UrlImage
from hibernaut.schemas.errors import ContextWindowExceeded, ModelBadRequest, ModelError
from hibernaut.schemas.messages.message import Message
from tests.contracts.model.spoken import Spoken
from tests.support.pictures import encoded, jpeg, png
from tests.support.rows import Rows, called, gave

REFUSALS = {
    "zai-org/feedback#570": (400, "Model do not support image input."),
    "ollama/ollama#17301": (400, "this model does not support image input"),
    "anthropics/claude-code#56016": (400, "Could not process image"),
    "vercel/ai#2837": (400, "messages[0].content must be a string"),
    "github/app#2163": (404, "No endpoints found that support image input"),
    "ggml-org/llama.cpp#15377": (
        500,
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    ),
    "ggml-org/llama.cpp#12947": (500, 'Failed to parse messages: Unsupported content part type: "image_url"'),
}
"""How providers refuse images: their status and text, by where it is published."""


def image(data: bytes) -> ImageContent:
    return ImageContent(source=Base64Image(media_type="image/png", data=encoded(data)))


OLD, NEW = image(png(4, 4)), image(jpeg(5, 5))


def conversation() -> tuple[Message, ...]:
    """An image of a user, and behind it one of a tool."""
    rows = Rows()
    seen = gave("call_1").model_copy(update={"images": [NEW]})
    return (
        rows.user([TextContent(text="What is this?"), OLD]),
        rows.assistant("", called("call_1", "look")),
        rows.tool(seen, name="look"),
    )


def sent(spoken: Spoken) -> list[list[bool]]:
    """Of each request, whether it has the old and the new image."""
    bodies = [json.dumps(asked.body) for asked in spoken.server.requests]
    return [[part.source.data in body for part in (OLD, NEW) if isinstance(part.source, Base64Image)] for body in bodies]


def refuse(spoken: Spoken, *times: tuple[int, str]) -> None:
    """Refuse the next calls with these statuses and texts."""
    own, refusals = spoken.server.script, iter(times)

    def script(*asked: Any) -> Any:
        refusal = next(refusals, None)
        return {"status": refusal[0], "body": {"error": {"message": refusal[1]}}} if refusal else own(*asked)

    spoken.server.script = script


@pytest.mark.parametrize("source", REFUSALS)
def test_a_request_is_sent_again_without_what_was_refused(spoken: Spoken, source: str) -> None:
    model = ImageTolerantModel(spoken.model)
    refuse(spoken, REFUSALS[source], REFUSALS[source])
    heard: list[Delta] = []
    reply = model.complete(spoken.request(*conversation()), heard.append)
    assert sent(spoken) == [[True, True], [True, False], [False, False]]
    assert json.dumps(spoken.sent()).count(NOT_SHOWN) == 2
    assert "".join(each.text for each in heard if each.kind == "text") == reply.text
    model.complete(spoken.request(*conversation()))
    assert sent(spoken)[3:] == [[False, False]], "what was refused is not sent again"
    assert NOT_SHOWN in json.dumps(model.payload(spoken.request(*conversation())))
    model.complete(spoken.request(*conversation(), model="another-model"))
    assert sent(spoken)[4:] == [[True, True]], "another model may take it"


def test_an_image_that_cannot_be_read_costs_no_other_one(spoken: Spoken) -> None:
    refuse(spoken, REFUSALS["anthropics/claude-code#56016"])
    ImageTolerantModel(spoken.model).complete(spoken.request(*conversation()))
    assert sent(spoken) == [[True, True], [True, False]]


def test_an_address_is_left_out_as_well(openai: Spoken) -> None:
    refuse(openai, REFUSALS["vercel/ai#2837"])
    row = Rows().user([TextContent(text="See."), ImageContent(source=UrlImage(url="https://example.com/a.png"))])
    ImageTolerantModel(openai.model).complete(openai.request(row))
    assert openai.sent()["messages"][-1]["content"] == f"See.\n{NOT_SHOWN}"


@pytest.mark.parametrize(
    ("status", "text", "error", "requests"),
    [
        (400, "max_tokens is too large", ModelBadRequest, 3),
        (500, "an internal error", ModelError, 1),
        (413, "Request exceeds the maximum size", ContextWindowExceeded, 1),
        (429, "slow down", ModelError, 1),
    ],
)
def test_a_refusal_for_another_reason_surfaces(openai: Spoken, status: int, text: str, error: Any, requests: int) -> None:
    refuse(openai, *[(status, text)] * requests)
    model = ImageTolerantModel(openai.model)
    with pytest.raises(error, match=text):
        model.complete(openai.request(*conversation()))
    assert len(openai.server.requests) == requests
    model.complete(openai.request(*conversation()))
    assert sent(openai)[-1] == [True, True], "nothing was learned from it"


def test_a_request_without_images_is_refused_once(openai: Spoken) -> None:
    refuse(openai, (400, "the image is missing"))
    with pytest.raises(ModelBadRequest):
        ImageTolerantModel(openai.model).complete(openai.request(Rows().user("Hi.")))
    assert len(openai.server.requests) == 1


def test_a_reply_that_began_is_not_asked_for_again(openai: Spoken) -> None:
    piece = {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}
    refusal = {"error": {"message": "Could not process image", "code": 400}}
    openai.server.says(raw="".join(f"data: {json.dumps(each)}\n\n" for each in (piece, refusal)).encode())
    heard: list[Delta] = []
    with pytest.raises(ModelBadRequest):
        ImageTolerantModel(openai.model).complete(openai.request(*conversation()), heard.append)
    assert ([each.text for each in heard], len(openai.server.requests)) == (["Hel"], 1)


def test_the_oldest_refusals_are_forgotten() -> None:
    refusals = ImageRefusals(most=2)
    log = Rows()
    rows = [log.user([image(png(width, 4))]) for width in (4, 5, 6)]
    for row in rows:
        refusals.add("m", images_of(row))
    assert refusals.of("m", rows) == images_of(rows[1]) | images_of(rows[2])


def images_of(row: Message) -> frozenset[str]:
    """The images of a row, as the refusals name them."""
    (images,) = image_refusals.pictured([row])
    return images
