"""Which operator a graph wants: ridge regression in closed form, climbed only on evidence."""

from pgso.finding.finding import Finding, find

__all__ = ["Finding", "find"]
