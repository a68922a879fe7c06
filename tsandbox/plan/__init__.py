"""Plans: the steps of a recipe that apply to one platform."""

from tsandbox.plan.catalog import Catalog
from tsandbox.plan.load import load
from tsandbox.plan.model import Plan, PlanStep, Platform
from tsandbox.plan.select import select

__all__ = ["Catalog", "Plan", "PlanStep", "Platform", "load", "select"]
