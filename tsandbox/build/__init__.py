"""Images for real: bases, builds and the content-addressed cache."""

from typing import TYPE_CHECKING, Any

from tsandbox.build.ensure import BuildOptions, ensure_image
from tsandbox.build.image import BuiltImage
from tsandbox.build.progress import Progress, Watch

if TYPE_CHECKING:
    from tsandbox.build.base import ensure_base

__all__ = ["BuildOptions", "BuiltImage", "Progress", "Watch", "ensure_base", "ensure_image"]


def __getattr__(name: str) -> Any:
    # Making a base takes many modules, and a run that finds its image needs none of them.
    if name == "ensure_base":
        from tsandbox.build.base import ensure_base

        return ensure_base
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
