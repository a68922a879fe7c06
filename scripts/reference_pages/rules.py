"""The rules of `tsandbox validate`: a list, and a page for each."""

from reference_pages.markdown import block, code, table
from tsandbox.recipe.lint import RULES
from tsandbox.recipe.lint.rule import Rule


def rules() -> str:
    rows = [[f"[{rule.id}](rules/{rule.id}.md)", rule.severity, rule.title] for rule in RULES.values()]
    silence = block('[lint]\nignore = { TS001 = "the package has no command to run" }', "toml")
    return (
        "A rule keeps its id for ever. A file silences a rule by its id, with the reason:\n\n"
        f"{silence}`--strict` makes warnings fail.\n\n" + table(["Rule", "Severity", "What it finds"], rows)
    )


def rule_pages() -> dict[str, str]:
    return {rule.id: _page(rule) for rule in RULES.values()}


def _page(rule: Rule) -> str:
    return (
        f"# {rule.id}: {rule.title}\n\nSeverity: {code(rule.severity)}\n\n{rule.why}\n\n"
        f"Found in:\n\n{block(rule.bad, 'toml')}Not found in:\n\n{block(rule.good, 'toml')}[All rules](../rules.md)\n"
    )
