"""The studies of the paper, one file each: what to run, and how to show it.

``pgso run`` and ``pgso report`` find them by the entry-point group ``pgso.studies``.
"""

__version__ = "0.1.0"
