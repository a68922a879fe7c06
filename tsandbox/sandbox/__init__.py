"""The sandbox: a plan installed and verified in a container, and everything that this takes."""

from tsandbox.sandbox.news import Listener, News
from tsandbox.sandbox.options import RunOptions
from tsandbox.sandbox.outcome import Outcome
from tsandbox.sandbox.prove import prove

__all__ = ["Listener", "News", "Outcome", "RunOptions", "prove"]
