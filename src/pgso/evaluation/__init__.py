"""How good is a model, and how sure is that? Statistics, scores, baselines and importance.

``statistics`` needs no torch, so that pages can use it.
"""
