"""From a spec to a record: the loop, its recipes, its checkpoints, and many runs at once.

One run:

1. ``fit`` loads the task of a spec, trains, and returns the record.
2. ``session`` is a run under way, of our networks and of a user's own (``own_model``). It asks a
   loop (``loops``) for losses, lets ``learning`` fill the gradients of S and say how good an epoch
   is, scores outputs and keeps curves. ``checkpoint`` saves and resumes it.
3. ``choice`` trains several specs where one asks for it (``auto``, ``found``, ``evidence``) and
   keeps one.

Many runs: ``engines`` shares them out to this process, to worker processes or to Ray; ``search``
searches over choices.

For pages and predictions: ``pages``, ``prediction_table``.
"""
