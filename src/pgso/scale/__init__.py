"""Beyond one batch and one machine: sampled neighbours, several processes."""

from pgso.scale.inference import predict_by_layer
from pgso.scale.loader import NeighborLoader, NeighborSampler, SampledBatch, mapped_features

__all__ = [
    "NeighborLoader",
    "NeighborSampler",
    "SampledBatch",
    "mapped_features",
    "predict_by_layer",
]
