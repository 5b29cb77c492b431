"""Calls a model without the images that its provider refuses, so that no image ends a conversation for good.

No list tells which models take images, and no check tells which image a provider can read. The provider tells both by its
refusal, which costs nothing: the same request is sent once more with a line of text in place of each image, first of the newest
ones, then of all. Knows no wire.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from hibernaut.adapters.model.learned_traits import Listener
from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import ImageContent, Part, TextContent, UrlImage
from hibernaut.schemas.errors import ModelBadRequest, ModelError
from hibernaut.schemas.messages.message import Message, ToolReturn
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

NOT_SHOWN = "[an image that cannot be shown to you: your provider has refused it]"
MOST_REFUSED = 10_000
"""The largest number of stored refusals of one provider."""
_NAMES_IMAGES = r"image|multi-?modal|vision|mmproj"
"""How refusals with other statuses than 400 and 422 say that images are the reason."""

logger = logging.getLogger(__name__)

Images = frozenset[str]
"""Images by the hash of their source."""


class ImageRefusals:
    """The images that the models of one provider have refused, the oldest of which are forgotten. Thread-safe."""

    def __init__(self, most: int = MOST_REFUSED) -> None:
        self._most = most
        self._refused: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, model: str, rows: Iterable[Message]) -> Images:
        """The images in these rows that this model has refused before. Reads no row while nothing was refused."""
        if not self._refused:
            return frozenset()
        images = frozenset[str]().union(*pictured(rows))
        with self._lock:
            return frozenset(image for image in images if (model, image) in self._refused)

    def add(self, model: str, images: Images) -> None:
        """Remember a refusal."""
        with self._lock:
            self._refused |= dict.fromkeys((model, image) for image in images)
            while len(self._refused) > self._most:
                self._refused.popitem(last=False)


class ImageTolerantModel:
    """Wraps `model`. A request is not repeated after a piece of its reply was passed on."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._refusals = ImageRefusals()

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says."""
        listener = Listener(on_delta) if on_delta is not None else None
        refused_images = self._refusals.of(request.config.model, request.messages)
        try:
            return self._model.complete(_without(request, refused_images), listener, on_open)
        except ModelError as error:
            if not _may_mean_images(error, listener):
                raise
            refusal = error
        for omitted in _steps(pictured(request.messages), refused_images):
            try:
                reply = self._model.complete(_without(request, refused_images | omitted), listener, on_open)
            except ModelError as error:
                if not _may_mean_images(error, listener):
                    raise
                continue
            self._refusals.add(request.config.model, omitted)
            logger.info("images refused", extra={"model": request.config.model, "images": len(omitted)})
            return reply
        raise refusal

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        return self._model.payload(_without(request, self._refusals.of(request.config.model, request.messages)))

    def models(self) -> list[ModelDescription]:
        """As the port says."""
        return self._model.models()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """As the port says."""
        return self._model.embedding_models()


def _may_mean_images(error: ModelError, listener: Listener | None) -> bool:
    """Whether images can be the reason of a refusal. Some providers do not name them: `content must be a string`
    (vercel/ai#2837).
    """
    if listener is not None and listener.has_output:
        return False
    return isinstance(error, ModelBadRequest) or re.search(_NAMES_IMAGES, error.detail, re.IGNORECASE) is not None


def _steps(images_of_rows: Sequence[Images], refused_images: Images) -> Iterator[Images]:
    """The images to omit: those of the newest row with images that were not refused before, then those of all rows."""
    rows = [new for images in images_of_rows if (new := images - refused_images)]
    if rows:
        yield rows[-1]
    if len(rows) > 1:
        yield frozenset[str]().union(*rows)


def pictured(rows: Iterable[Message]) -> list[Images]:
    """The images of each row that has any."""
    return [images for row in rows if (images := frozenset(map(_digest, _images(row))))]


def _images(row: Message) -> Iterator[ImageContent]:
    yield from (part for part in row.content if isinstance(part, ImageContent))
    for each in row.tool_returns:
        yield from each.images


def _digest(image: ImageContent) -> str:
    source = image.source
    named = source.url if isinstance(source, UrlImage) else source.data or (source.file_id if source.type == "letta" else "")
    return hashlib.sha256(named.encode(errors="replace")).hexdigest()


def _without(request: ModelRequest, images: Images) -> ModelRequest:
    """The request with a line of text in place of each of these images."""
    if not images:
        return request
    return replace(request, messages=[_row_without(row, images) for row in request.messages])


def _row_without(row: Message, images: Images) -> Message:
    if images.isdisjoint(map(_digest, _images(row))):
        return row
    content: list[Part] = [
        TextContent(text=NOT_SHOWN) if isinstance(part, ImageContent) and _digest(part) in images else part
        for part in row.content
    ]
    return row.model_copy(
        update={"content": content, "tool_returns": [_return_without(each, images) for each in row.tool_returns]}
    )


def _return_without(returned: ToolReturn, images: Images) -> ToolReturn:
    remaining = [image for image in returned.images if _digest(image) not in images]
    lines = [NOT_SHOWN] * (len(returned.images) - len(remaining))
    text = "\n".join(text for text in (returned.func_response or "", *lines) if text)
    return returned.model_copy(update={"images": remaining, "func_response": text})
