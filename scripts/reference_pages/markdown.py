"""The little Markdown that the pages need."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines) + "\n"


def code(text: str) -> str:
    """Inline code, also of text that holds backticks or nothing."""
    return f"`` {text} ``" if "`" in text else f"`{text}`" if text else ""


def block(text: str, language: str = "") -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```\n\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
