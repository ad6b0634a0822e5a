"""``find`` measured: seconds, test scores over splits, and how often it climbs wrongly."""
