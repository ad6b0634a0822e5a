from pgso_studies.commands import as_html


def test_tags_in_the_text_or_title_are_shown_and_not_run():
    page = as_html("<b>t</b>", "# <script>alert(1)</script>\n\n| a |\n|---|\n| <img src=x> |\n")
    assert "<script>" not in page
    assert "<img" not in page
    assert "<b>" not in page
    assert "<table>" in page
