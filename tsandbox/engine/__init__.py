"""The one door to container engines and other programs."""

from tsandbox.engine.connection import connect
from tsandbox.engine.protocol import (
    BuildRequest,
    ContainerRequest,
    ContainerState,
    EnforcedLimits,
    Engine,
    EngineFacts,
    Image,
    Mount,
    Sink,
    Stream,
)

__all__ = [
    "BuildRequest",
    "ContainerRequest",
    "ContainerState",
    "EnforcedLimits",
    "Engine",
    "EngineFacts",
    "Image",
    "Mount",
    "Sink",
    "Stream",
    "connect",
]
