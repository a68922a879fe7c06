"""Rules for recipes that load but can still go wrong, each with a stable id."""

from tsandbox.recipe.lint.engine import Checked, Finding, check_text, lint, load_findings
from tsandbox.recipe.lint.rule import Rule
from tsandbox.recipe.lint.table import RULES

__all__ = ["RULES", "Checked", "Finding", "Rule", "check_text", "lint", "load_findings"]
