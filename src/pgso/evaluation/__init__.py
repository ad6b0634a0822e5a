"""How good is a model, and how sure is that? Statistics, scores, baselines and importance.

``statistics`` and ``evidence`` need no torch, so that pages can use them.
"""
