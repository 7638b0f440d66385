from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser

import pytest

from sim.report import page
from sim.report.result import Result
from sim.report.text import DASH, trimmed


def observed(metric, value, unit, **labels):
    return {"metric": metric, "labels": labels, "value": value, "unit": unit, "n": 1, "half_width": None}


VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The text a reader sees, the ids, and whether every element is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.balanced = True
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_page_is_well_formed_small_and_offline(failing_page):
    html, read = failing_page, Page(failing_page)
    assert read.balanced
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert "script" not in read.tags
    assert len(html.encode()) < page.BYTES_MAX
    assert set(re.findall(r"https?://[^\"' ]+", html)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"@import|url\((?!#)|src=", html)


def test_a_page_says_its_verdict_in_the_one_vocabulary(any_report, page_of):
    html = page_of(any_report)
    text = Page(html).text
    verdict = any_report.result.verdict
    assert verdict in text
    assert f"<title>{verdict}: noisy-neighbour 1.0.0</title>" in html
    assert not re.search(r"\berrors?\b|unreadable|crash", text, re.IGNORECASE)


def for_people(metric, value):
    """Shares in hundredths of a percent, times in whole ms or three digits, the rest to 0.001: in decimals."""
    number = Decimal(value)
    if metric in {"admission.ratio", "goodput.ratio"}:
        return trimmed(str((100 * number).quantize(Decimal("0.01"), ROUND_HALF_UP))) + " %"
    places = Decimal("0.001") if not metric.startswith(("queue.wait", "sojourn")) else Decimal(1)
    if metric == "queue.wait.p50":
        places = Decimal("0.01")  # 1.5 ms
    if metric == "queue.wait.mean":
        places = Decimal("0.1")  # 71.25 ms
    return trimmed(str(number.quantize(places, ROUND_HALF_UP)))


def test_a_page_shows_every_gate_and_the_numbers_of_the_record(failing, failing_page):
    text = Page(failing_page).text
    for gate in failing.record["gates"]:
        assert gate["id"] in text
        assert for_people(gate["metric"], gate["observed"]) in text
    for margin in ("-0.89 points", "980 ms", "0.227"):  # -0.008889, 980.000000 and 0.226879
        assert margin in text
    for row in failing.record["observations"]:
        if list(row["labels"]) in ([], ["class"]) and row["metric"] not in {
            "active.max",
            "active.mean",
            "queue.length.mean",
        }:
            assert for_people(row["metric"], row["value"]) in text, row


def test_a_page_answers_what_an_operator_asks(failing_page):
    text = Page(failing_page).text
    for said in (
        "quiet-admitted does not hold",
        "First breach (quiet-admitted): the first refusal of class quiet between 65 s and 65.5 s, in phase spike.",
        "On 1 seed; nothing is said of others.",
        "Binds first: max_principal_share of principal noisy",
        "tollgate explain out/noisy-neighbour-ffffffffffff --request 1844",
        "every permit of the workspace was in use",
        "gateway log of one week",
        "assumed",
        "tollgate run manifests/noisy-neighbour.yaml This one",
        "tollgate verify out/noisy-neighbour-ffffffffffff --rerun",
        "--set profile.workspace.concurrency=12",
        f"sha256:{'f' * 64}",
        "series.json.gz",
        "requests-conserved",
    ):
        assert said in text


def test_every_section_is_there_and_every_anchor_leads_to_one(failing_page):
    read = Page(failing_page)
    headings = ["gates", "time", "headroom", "refusals", "waits", "fairness"]
    headings += ["providers", "worst", "next", "basis", "reproduce"]
    assert [found for found in read.ids if "-" not in found] == headings
    targets = re.findall(r'<a href="#([^"]+)"', failing_page)
    assert targets == headings


def test_every_figure_has_a_text_and_each_element_that_scrolls_can_be_reached_by_keys(failing_page):
    figures_of = re.findall(r"<figure[^>]*>.*?</figure>", failing_page, re.DOTALL)
    assert len(figures_of) == 6  # no bucket of this run fell far enough to be drawn
    for figure in figures_of:
        assert re.search(r'<svg role="img" aria-label="[^"]{40,}"', figure)
    assert all('tabindex="0"' in tag for tag in re.findall(r'<(?:figure|div class="scroll)[^>]*>', failing_page))


def test_on_a_phone_each_figure_of_a_stacked_table_says_what_it_is(failing_page):
    gates = failing_page[failing_page.index('aria-label="Gates"') :]
    for head in ("verdict", "observed", "bound", "margin", "runs"):
        assert f'data-head="{head}"' in gates[: gates.index("</table>")]


def test_rounding_is_stated(failing_page):
    assert "Figures are rounded for reading" in Page(failing_page).text


def test_a_stream_that_is_a_closed_loop_is_called_one(make_record, make_report, page_of):
    note = "people is a closed loop of 60 callers, who ask again once answered: what is slow is asked less"
    checks = [{"name": "observations", "ok": True, "detail": f"{note}; of 30 principals the 20 with the most"}]
    text = Page(page_of(make_report(make_record("PASS", checks=checks)))).text
    assert f"{note}." in text


def test_providers_have_a_table_of_states_and_recovery(make_record, make_report, page_of):
    rows = [
        observed("utilisation", "0.430591", "ratio", provider="primary"),
        observed("breaker.open_time", "42000.000000", "ms", provider="primary"),
        observed("recovery.time", "12957.541685", "ms", provider="primary"),
    ]
    text = Page(page_of(make_report(make_record("PASS", observations=rows)))).text
    assert f"of its permits in use {DASH} 43.06 %" in text
    assert f"recovery after an outage {DASH} 12958 ms" in text


def test_phases_and_provider_states_are_bands_on_the_one_time_axis(failing_page):
    timeline = failing_page[failing_page.index('aria-label="The run on one time axis') :]
    timeline = timeline[: timeline.index("</svg>")]
    for said in ("breaker primary", "pause second", "breaker half-open", "spike", "seconds from the start of the run"):
        assert said in timeline


def test_without_series_the_figures_over_time_are_left_out_and_the_page_says_so(failing, make_report):
    html = page.render(make_report(failing.record, series=None))
    text = Page(html).text
    assert "No figures over time: this bundle has no series" in text
    assert "When it began is not known: the bundle has no series." in text
    assert "one time axis" not in html
    assert "observed against bounds" in html  # drawn from the record


def test_without_a_profile_or_requests_the_page_says_what_is_missing(failing, make_report, page_of):
    text = Page(page_of(make_report(failing.record, profile=None, slowest=[]))).text
    assert "The limits of this run were not given to the report" in text
    assert "The bundle keeps no single requests." in text


def test_values_without_provenance_are_called_assumed(make_record, make_report, page_of):
    text = Page(page_of(make_report(make_record("PASS", provenance=[])))).text
    assert "take all of them as assumed" in text


def test_an_invalid_page_calls_its_figures_clues(invalid, page_of):
    text = Page(page_of(invalid)).text
    assert "Read what follows as clues to the fault, not as results." in text
    assert "BROKEN" in text
    assert "--set" not in text


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "a'b\"c&d"]
)
def test_names_from_outside_are_only_text(make_record, make_report, page_of, evil):
    record = make_record(
        "FAIL",
        name=evil,
        gate_changes={"quiet_admitted": {"id": evil, "verdict": "FAIL"}},
        checks=[{"name": evil, "ok": True, "detail": evil}],
        provenance=[{"path": evil, "value": evil, "kind": "assumed", "source": evil}],
        host={"python": evil},
    )
    html = page_of(make_report(record, path=f"out/{evil}", manifest_path=evil))
    read = Page(html)
    assert read.balanced
    assert "script" not in read.tags
    assert "img" not in read.tags
    assert " ".join(evil.split()) in read.text


def test_a_record_of_many_classes_phases_stays_small(make_record, make_report, page_of):
    figures = [
        {"metric": metric, "labels": labels, "value": 7, "unit": "count", "n": 1, "half_width": None}
        for metric in ("arrivals", "shed", "shed.queue-full", "completed")
        for labels in (
            *({"class": f"class-{n}"} for n in range(300)),
            *({"principal": f"p{n:04d}"} for n in range(20)),
            *({"phase": f"phase-{n}"} for n in range(40)),
        )
    ]
    html = page_of(make_report(make_record("PASS", observations=figures)))
    assert len(html.encode()) < page.BYTES_MAX
    assert "292 more are in the record." in html


def test_a_result_finds_no_figure_under_other_labels(failing):
    result = Result(failing.record)
    assert result.exact("arrivals", principal="nobody") is None
    assert result.exact("arrivals", **{"class": "quiet"}) == 1800
