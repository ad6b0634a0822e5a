"""From a spec to a record: the loop, its recipes, its checkpoints, and many runs at once.

``fit`` loads the task of a spec, trains, and returns the record. ``session`` is a run under way, of
our networks and of a user's own (``own_model``): it asks a loop (``loops``) for losses, lets
``learning`` fill the gradients of S and say how good an epoch is, scores outputs, keeps curves and
has a checkpoint. ``choice`` trains several specs where one asks for it (``auto``, ``found``,
``evidence``) and keeps one. ``engines`` shares many runs out to this process, to worker processes
or to Ray. ``pages`` computes what a report shows beside runs.
"""
