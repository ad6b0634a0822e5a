"""What a fuzzer leaves behind: a promise, how often it was tried, and every case that broke it."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Outcome:
    """The result of one fuzzer; plain data, so that the page is drawn from its JSON."""

    name: str
    promise: str  # one sentence
    tried: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # what was tried, by kind
    failures: list[str] = field(default_factory=list)  # one sentence a case
    measured: dict[str, str] = field(default_factory=dict)  # the worst of what was measured

    def count(self, kind: str) -> None:
        """One more case of this kind."""
        self.tried += 1
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
