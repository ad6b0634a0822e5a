"""The command line: one file a command; ``main.py`` names them all."""
