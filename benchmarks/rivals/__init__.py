"""What a user would pick instead, measured side by side: ``make rivals``, docs/rivals.md."""
