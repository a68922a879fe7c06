"""What this machine has and lacks for tsandbox: every check with its state, what it means and how to fix it."""

from tsandbox.build.doctor.check import Check, State
from tsandbox.build.doctor.examine import Examination, examine
from tsandbox.build.doctor.fix import fix

__all__ = ["Check", "Examination", "State", "examine", "fix"]
