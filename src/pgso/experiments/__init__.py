"""The studies of the paper: what to run, and how to show it."""
