"""Whole networks: stacks of convs, conversion of other people's, and how they are optimised."""
