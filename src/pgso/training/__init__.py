"""From a spec to a record: the loop, its recipes, its checkpoints, and many runs at once."""
