"""Images whose label, tag or content disagree with each other, or with what was built."""

import hashlib

import msgspec
from msgspec import Struct

from tsandbox.build import made
from tsandbox.build.image import KEY, PREIMAGE, tag_in
from tsandbox.derive.key import Preimage, tag_of
from tsandbox.engine.protocol import Engine, Image


class Fault(Struct, frozen=True, kw_only=True):
    image: str
    problem: str
    hint: str


def verify(engine: Engine) -> tuple[int, list[Fault]]:
    """How many images were looked at, and what is wrong with them."""
    images = [image for image in engine.images(KEY) if tag_in(image)]
    return len(images), [fault for image in images for fault in faults(engine.name, image)]


def faults(engine: str, image: Image) -> list[Fault]:
    tag = tag_in(image) or image.id
    key, preimage = image.labels.get(KEY, ""), image.labels.get(PREIMAGE, "")
    problems = []
    if f"sha256:{hashlib.sha256(preimage.encode()).hexdigest()}" != key:
        problems.append("its key is not the hash of the preimage in its labels")
    elif not _readable(preimage):
        problems.append("its preimage cannot be read")
    if tag_of(key) != tag:
        problems.append(f"its tag does not belong to its key, which gives {tag_of(key)}")
    known = made.image_id(engine, key)
    if known is not None and known != image.id and tag_of(key) == tag:
        problems.append("its content is not what was built or imported under this key")
    hint = f"remove it: {engine} rmi {tag}; the next build makes it anew"
    return [Fault(image=tag, problem=problem, hint=hint) for problem in problems]


def _readable(preimage: str) -> bool:
    try:
        msgspec.json.decode(preimage, type=Preimage)
    except msgspec.MsgspecError:
        return False
    return True
