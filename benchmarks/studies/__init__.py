"""How long the runs of the studies take."""
