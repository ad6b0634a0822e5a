"""What is learned and how it is scored: ``OBJECTIVES`` by name, one file each in ``shipped``.

Importing this needs no torch: code that reads records asks an objective how a score is written and
which way is better. Losses import torch when they are computed.
"""

from pgso.objectives import shipped as shipped
from pgso.objectives.objective import OBJECTIVES, Answer, Objective

__all__ = ["OBJECTIVES", "Answer", "Objective"]
