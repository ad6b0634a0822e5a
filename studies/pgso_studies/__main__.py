"""``python -m pgso_studies``: the tables of README and docs that come from ``results/``."""

from pgso_studies import found, readme

if __name__ == "__main__":
    readme.write_pages(readme.PAGES)
    readme.write_pages(found.PAGES)
