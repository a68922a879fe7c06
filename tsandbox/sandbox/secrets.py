"""Values that must not be seen: masked wherever they occur, also when they arrive in pieces or overlap."""

import base64
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

MASK = "***"
# Shorter values cannot be told from ordinary text: masking every "1" would hide the log and protect nothing.
SHORTEST = 3
# A line of a longer value (a key, a certificate) counts from here on: shorter ones are braces and words.
_SHORTEST_LINE = 8
_ORDINARY = frozenset({"true", "false", "yes", "off", "none", "null"})


def is_maskable(value: str) -> bool:
    return not value or bool(_forms(value))


class Masker:
    """Replaces secret values. Immutable, so that one serves a run and all its streams."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _forms(value)}
        self._secrets = sorted(forms, key=lambda form: (-len(form), form))

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def text(self, text: str) -> str:
        stream = self.stream()
        return stream.feed(text) + stream.end()

    def scrub(self, value: Any) -> Any:
        """Plain data with every text in it masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.scrub(key): self.scrub(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.scrub(item) for item in value)
        return value

    def stream(self) -> "MaskedStream":
        return MaskedStream(self._secrets)


class MaskedStream:
    """Text in, masked text out. What might be the beginning of a secret is held back until it is clear."""

    def __init__(self, secrets: list[str]) -> None:
        self._secrets = secrets
        self._held = ""
        # So much of what is held belongs to a secret whose beginning has been given out as a mask.
        self._covered = 0
        self._masking = False

    def feed(self, text: str) -> str:
        if not self._secrets:
            return text
        buffer = self._held + text
        return self._give_out(buffer, len(buffer) - self._doubtful(buffer))

    def end(self) -> str:
        return self._give_out(self._held, len(self._held))

    def _doubtful(self, buffer: str) -> int:
        """The length of the longest end of `buffer` that could still grow into a secret."""
        longest = 0
        for secret in self._secrets:
            for length in range(min(len(secret) - 1, len(buffer)), longest, -1):
                if buffer.endswith(secret[:length]):
                    longest = length
                    break
        return longest

    def _give_out(self, buffer: str, upto: int) -> str:
        spans = self._spans(buffer)
        parts: list[str] = []
        position = 0
        for start, end in spans:
            if start >= upto:
                break
            if start > position:
                parts.append(buffer[position:start])
                self._masking = False
            if not self._masking:
                parts.append(MASK)
            self._masking = True
            position = min(end, upto)
        if position < upto:
            parts.append(buffer[position:upto])
            self._masking = False
        self._covered = max((end - upto for start, end in spans if start <= upto < end), default=0)
        self._held = buffer[upto:]
        return "".join(parts)

    def _spans(self, buffer: str) -> list[tuple[int, int]]:
        """Every stretch that secrets cover, overlapping and touching ones as one."""
        found = [(0, self._covered)] if self._covered else []
        for secret in self._secrets:
            start = buffer.find(secret)
            while start >= 0:
                found.append((start, start + len(secret)))
                start = buffer.find(secret, start + 1)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


def _forms(value: str) -> set[str]:
    """The value and the shapes in which programs commonly print it."""
    bare = value.strip()
    if len(bare) < SHORTEST or bare.lower() in _ORDINARY:
        return set()
    encoded = base64.b64encode(bare.encode()).decode().rstrip("=")
    lines = {line.strip() for line in bare.splitlines() if len(line.strip()) >= _SHORTEST_LINE}
    return {value, bare, quote(bare, safe=""), json.dumps(bare)[1:-1], encoded, *lines}
