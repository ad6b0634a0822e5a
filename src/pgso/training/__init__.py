"""From a spec to a record: the loop, its recipes, its checkpoints, and many runs at once.

One run:

1. ``fit`` loads the task of a spec, trains, and returns the record.
2. ``session`` is a run under way. It asks a loop of ``loops/`` for losses, lets
   ``operator_learning`` fill the gradients of S, scores outputs (``scoring``), chooses the epoch
   (``selection``) and keeps ``curves``. ``checkpoint`` saves and resumes it.
3. ``choice`` trains several specs where one asks for it (``auto``, ``found``, ``evidence``) and
   keeps one; ``candidates`` come from ``find``, ``evidence`` says how sure validation is.

Many runs: ``engines`` shares them out to this process, to ``workers`` or to Ray; ``search``
searches over choices.

For pages and predictions: ``baselines``, ``evaluation``, ``calibration``, ``densities``,
``explanation`` with its importances, ``prediction`` and ``prediction_table``.
"""
