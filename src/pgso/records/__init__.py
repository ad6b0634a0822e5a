"""The waist of the data flow: one JSON record per run, and where records are kept."""

from pgso.records.numerics import NUMERICS
from pgso.records.record import RunRecord
from pgso.records.spec import RunSpec
from pgso.records.store import Store

__all__ = ["NUMERICS", "RunRecord", "RunSpec", "Store"]
