"""The page in a real browser: what it does, what it asks for, what it says."""

import json
import shutil

import networkx
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains

import pgso
from tests.report.data import make_data
from tests.report.records import MOVED, THREE, make_record, make_runs
from tests.report.test_evaluation import make_evaluation
from tests.report.test_page import page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--window-size=1280,900"
)
RING = {"adjacency": [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], "degree": [2.0] * 4}
DENSITY = {"grid": [-1.0, 0.0, 1.0], "density": [0.0, 1.0, 0.0]}

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium, chromedriver")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def show(browser, tmp_path):
    def opened(runs, **more):
        path = tmp_path / "report.html"
        path.write_text(page_of(runs, **more), encoding="utf-8")
        browser.get_log("performance")  # forget what came before
        browser.get(path.as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []  # no test may leave an error behind


def with_spectra(runs):
    wide = {"grid": [-1.0, 0.0, 1.0], "density": [0.2, 0.6, 0.2]}
    spectra = {"start": [DENSITY] * 2, "learned": [wide] * 2, "subgraph": RING}
    by_epoch = [
        {"epoch": epoch, "operator": layer, "grid": DENSITY["grid"], "density": [0.0, peak, 0.0]}
        for epoch, peak in ((0, 0.6), (2, 0.8))
        for layer in (0, 1)
    ]
    update = {"spectra": {**spectra, "by_epoch": by_epoch}}
    return [run.model_copy(update=update) for run in runs]


def now(page, name):
    return page.find_element("css selector", f"#values tr[data-name='{name}'] .now").text


def move_slider(page, keys):
    slider = page.find_element("id", "slider")
    slider.send_keys(keys)


HOME, END, LEFT, RIGHT, ESCAPE = "\ue011", "\ue010", "\ue012", "\ue014", "\ue00c"


def test_nothing_is_asked_for_but_the_page_itself(show):
    page = show(make_runs(THREE))
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    outside = [url for url in asked if not url.startswith(("file:", "data:", "chrome:"))]
    assert outside == []
    assert len([url for url in asked if url.startswith("file:")]) == 1


def test_every_plot_is_drawn(show):
    runs = make_runs(THREE)
    page = show(with_spectra(runs))
    for name in ("scores", "curve-loss", "curve-val", "trajectory", "support", "spectrum"):
        assert page.find_elements("css selector", f"#{name} svg .grid"), name
    assert len(page.find_elements("css selector", "#scores circle")) == 12
    assert len(page.find_elements("css selector", "#spectrum .rug")) == 4


def test_the_slider_moves_values_interval_spectrum_and_entries_together(show):
    runs = make_runs(THREE)
    page = show(with_spectra(runs))
    assert now(page, "m2") == f"{MOVED[1]:.3f}"  # it begins at the chosen epoch
    read = "return [document.querySelector('#support .cursor').getAttribute('x1'), "
    read += "document.querySelector('#spectrum .rug').getAttribute('x1'), "
    read += "document.querySelector('#spectrum rect.band').getAttribute('width'), "
    read += "document.querySelector('#spectrum [data-name=now] path').getAttribute('d'), "
    read += "document.getElementById('heat').toDataURL()]"
    learned = page.execute_script(read)
    move_slider(page, HOME)
    assert page.find_element("id", "epoch").text == "0"
    assert (now(page, "m2"), now(page, "e2"), now(page, "a")) == ("1.000", "−0.500", "1.000")
    assert (now(page, "lower bound"), now(page, "upper bound")) == ("−1.000", "1.000")
    start = page.execute_script(read)
    assert all(before != after for before, after in zip(learned, start, strict=True))
    move_slider(page, RIGHT)
    assert now(page, "m2") == "0.950"
    assert page.execute_script(read)[3] not in (learned[3], start[3])
    move_slider(page, RIGHT)
    assert "Nearest density: after 1 epochs" in page.find_element("id", "spectrum-note").text
    move_slider(page, HOME)
    assert page.execute_script(read) == start


def test_a_seed_without_entries_says_so(show):
    runs = make_runs(THREE)
    firsts = with_spectra(run for run in runs if run.spec.seed == 0)
    page = show([*firsts, *(run for run in runs if run.spec.seed)])
    note = page.find_element("id", "elsewhere")
    assert not note.is_displayed()
    page.find_element("css selector", "#seed option[value='2']").click()
    assert note.text == "Densities and entries were computed for the first seed only."


def test_the_entries_and_eigenvalues_in_the_page_are_those_of_equation_1(show):
    page = show(make_runs(THREE))
    A, d = np.array(RING["adjacency"], float), np.array([2.0, 3.0, 1.0, -5.0])
    m1, m2, m3, e1, e2, e3, a = MOVED
    power = [np.where(d + a > 0, np.abs(d + a), 1) ** e * (d + a > 0) for e in (e1, e2, e3)]
    expected = m1 * np.diag(power[0]) + m3 * np.eye(4)
    expected += m2 * np.diag(power[1]) @ (A + a * np.eye(4)) @ np.diag(power[2])
    graph = {"adjacency": RING["adjacency"], "degree": d.tolist()}
    call = "return [operatorEntries(arguments[0], arguments[1]), "
    call += "subgraphEigenvalues(arguments[0], arguments[1])]"
    entries, eigenvalues = page.execute_script(call, list(MOVED), graph)
    np.testing.assert_allclose(entries, expected, atol=1e-12)
    np.testing.assert_allclose(eigenvalues, np.sort(np.linalg.eigvals(expected).real), atol=1e-9)


def test_light_and_dark_are_one_button(show):
    page = show(make_runs(THREE))
    colour = "return getComputedStyle(document.body).backgroundColor"
    button = page.find_element("id", "theme")
    before, pressed = page.execute_script(colour), button.get_attribute("aria-pressed")
    button.click()
    assert page.execute_script(colour) != before
    assert button.get_attribute("aria-pressed") != pressed
    button.click()
    assert page.execute_script(colour) == before


def test_a_plot_is_read_and_zoomed_by_keyboard(show):
    page = show(make_runs(THREE))
    plot = page.find_element("css selector", "#curve-loss svg[role='img']")
    plot.send_keys(RIGHT, RIGHT)
    readout = page.find_element("css selector", "#curve-loss .readout").text
    assert readout.splitlines()[0] == "epochs 2"
    assert "mPGSO 1.750 (1.750 to 1.750)" in readout
    reset = page.find_element("css selector", "#curve-loss .reset")
    plot.send_keys("+")
    assert reset.is_displayed()
    plot.send_keys(ESCAPE)
    assert not reset.is_displayed()


def test_epochs_are_whole_numbers(show):
    page = show(make_runs(THREE))  # four epochs
    ticks = "return [...document.querySelectorAll('#curve-loss text[text-anchor=middle]')]"
    shown = page.execute_script(ticks + ".map((each) => each.textContent)")
    assert shown == ["1", "2", "3", "4", "epochs", "loss"]


def test_a_plot_is_zoomed_by_dragging_and_reset_by_a_button(show):
    page = show(make_runs(THREE))
    plot = page.find_element("css selector", "#trajectory svg[role='img']")
    ticks = "return [...document.querySelectorAll('#trajectory text')].map((t) => t.textContent)"
    before = page.execute_script(ticks)
    drag = ActionChains(page, duration=50).move_to_element_with_offset(plot, -60, 0)
    drag.click_and_hold().move_by_offset(120, 0).release().perform()
    assert page.execute_script(ticks) != before
    page.find_element("css selector", "#trajectory .reset").click()
    assert page.execute_script(ticks) == before


def test_operator_seed_and_layer_can_be_chosen(show):
    page = show(make_runs(THREE))
    assert page.find_element("id", "operator").get_attribute("value") == "mpgso"  # the candidate
    assert page.find_element("id", "layer").is_displayed()
    page.find_element("css selector", "#operator option[value='pgso']").click()
    assert not page.find_element("id", "layer").is_displayed()
    page.find_element("css selector", "#seed option[value='2']").click()
    assert now(page, "m2") == f"{MOVED[1]:.3f}"


def test_there_are_numbers_under_every_plot(show):
    runs = make_runs(THREE)
    page = show(with_spectra(runs))
    page.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    for plot in page.find_elements("css selector", ".plot, canvas"):
        table = page.execute_script(
            "return arguments[0].parentElement.querySelector('details table')", plot
        )
        assert table is not None, plot.get_attribute("id")


@pytest.mark.parametrize("width", [360, 390, 820, 1280])
def test_no_width_scrolls_sideways(show, width):
    runs = make_runs(THREE, choices={"dataset": "averyveryverylongnameofadataset" * 3})
    page = show(with_spectra(runs))
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_hostile_name_is_text(show):
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    runs = make_runs({"fixed": [0.5], "pgso": [0.6]}, choices={"dataset": hostile})
    page = show(runs)
    assert page.find_element("tag name", "h1").text == f"{hostile}, gcn"
    assert page.find_elements("tag name", "img") == []


@pytest.mark.parametrize(
    "runs",
    [
        make_runs({"fixed": [0.5], "pgso": [0.6]}),
        make_runs({"fixed": [0.5, 0.6]}),
        make_runs({"pgso": [0.5]}, directed=True, metric="roc_auc"),
        [make_record("pgso", 0, None, curves={}, epoch=None, status="failed")],
        [make_record("mpgso", 0, 0.4, status="diverged", error="nan")],
        make_runs({"fixed": [0.5], "auto": [0.6]}),
    ],
    ids=["one seed", "fixed", "directed", "failed", "diverged", "auto"],
)
def test_whatever_there_is_makes_no_error(show, runs):
    page = show(runs)
    assert page.find_element("css selector", ".verdict strong").text


def test_right_and_wrong_are_drawn_and_read(show):
    runs = [run.model_copy(update={"evaluation": make_evaluation(7)}) for run in make_runs(THREE)]
    page = show(runs)
    for name in ("roc", "precision", "reliability"):
        assert page.find_elements("css selector", f"#{name} svg .curve"), name
    dots = page.find_elements("css selector", "#scatter-0 circle")
    assert len(dots) == 6  # two points of three operators, without lines
    assert len(page.find_elements("css selector", "#scatter-0 .curve")) == 1  # the diagonal
    cell = "[aria-label^='PGSO: true class'] tbody tr:nth-child(1) td:nth-of-type({})"
    cells = [page.find_element("css selector", cell.format(k)) for k in (1, 2)]
    shades = [each.value_of_css_property("background-color") for each in cells]
    assert shades[0] != shades[1]
    page.execute_script("document.querySelector('[data-plot=roc]').open = true")
    rows = page.find_elements("css selector", "[data-plot=roc] tbody tr")
    assert len(rows) == 51


def test_a_wide_table_shows_that_it_scrolls_and_the_page_does_not(show):
    page = show(make_runs(THREE), data=[make_data()])
    phone = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    goes_on = "return arguments[0].scrollWidth > arguments[0].clientWidth"
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= 400
        boxes = page.find_elements("css selector", ".scroll")
        wide = [b for b in boxes if b.is_displayed() and page.execute_script(goes_on, b)]
        assert wide
        assert "scroll" in wide[0].value_of_css_property("background-attachment")
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_node_shows_what_gamma_takes_from_its_neighbours(browser, tmp_path):
    found = pgso.find("karate")
    browser.get(found.report(tmp_path / "found.html").as_uri())
    matrix = pgso.shift(found.task.graph, found.best.S).to_dense()

    def shown():
        rows = browser.find_elements("css selector", "#neighbours tbody tr")
        return [row.text.replace(" (itself)", "").split()[1:3] for row in rows]

    assert dict(shown()) == entries_of(matrix[33])  # the one with most neighbours
    browser.execute_script(
        "document.querySelector('svg.graph circle[data-k=\"11\"]').dispatchEvent("
        "new MouseEvent('click', {bubbles: true}))"
    )
    assert dict(shown()) == entries_of(matrix[11])
    name = browser.find_element("id", "node-name")
    name.clear()
    name.send_keys("5\n")  # as good as "node 5"
    assert dict(shown()) == entries_of(matrix[5])
    name.clear()
    name.send_keys("node 999\n")
    assert browser.find_element("id", "node-unknown").is_displayed()
    assert browser.get_log("browser") == []


def test_names_of_many_neighbours_do_not_overlap(browser, tmp_path):
    cliques = pgso.Graph.from_networkx(networkx.connected_caveman_graph(2, 22))
    found = pgso.find(cliques, None, np.arange(44) // 22, train=np.arange(0, 44, 2))
    browser.get(found.report(tmp_path / "found.html").as_uri())
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('#neighbourhood text')].map((text) => {"
        "const box = text.getBBox(); return [box.x, box.y, box.width, box.height]; })"
    )
    x, y, width, height = np.array(boxes).T
    assert len(boxes) > 20
    beside = np.maximum(x, x[:, None]) >= np.minimum(x + width, (x + width)[:, None]) - 1
    below = np.maximum(y, y[:, None]) >= np.minimum(y + height, (y + height)[:, None]) - 1
    np.fill_diagonal(beside, True)
    assert (beside | below).all()


def entries_of(row):
    return {str(k): f"{row[k]:.3f}" for k in row.nonzero()[:, 0].tolist()}
