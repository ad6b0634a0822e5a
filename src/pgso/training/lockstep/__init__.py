"""Replicas in lockstep: runs of one architecture on one graph, trained together."""
