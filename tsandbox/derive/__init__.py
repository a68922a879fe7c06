"""From a plan to a ContainerSpec, its Dockerfile and its key: no engine, no network."""

import sys
from types import ModuleType
from typing import Any

from tsandbox.derive.bases import Base
from tsandbox.derive.dockerfile import render
from tsandbox.derive.from_plan import derive
from tsandbox.derive.key import ImageDefinition, define_image, image_key
from tsandbox.derive.present import spec_object
from tsandbox.derive.spec import Blocker, ContainerSpec, Limits

__all__ = [
    "Base",
    "Blocker",
    "ContainerSpec",
    "ImageDefinition",
    "Limits",
    "define_image",
    "derive",
    "image_key",
    "render",
    "spec_object",
]


class _CallableRoom(ModuleType):
    """`from tsandbox import derive` finds this room once it is imported; calling it calls its one main function."""

    def __call__(self, *args: Any, **kwargs: Any) -> ContainerSpec:
        return derive(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableRoom
