"""What notebooks show: everything that is said in words, well formed, and nothing that a browser would run."""

from html.parser import HTMLParser

from looping import looping
from tiny_run import learned_run

import mvsim
from mvsim.base.html import fragment
from mvsim.judging.verdict_list import Verdicts

VOID = {"br", "hr", "img", "input", "meta", "link", "path", "use", "circle"}


class Outline(HTMLParser):
    """Text, tags and whether every tag is closed in order."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def outline(html):
    found = Outline(html)
    assert found.open == []
    return found


def test_text_is_escaped():
    found = outline(fragment("<script>", [["<b>", 1], ["\x1b[31m", "&"]], ["<i>", "value"]))
    assert not {"script", "i"} & set(found.tags)
    assert found.tags.count("b") == 1  # that of the heading
    assert found.text == "<script><i>value<b>1\\x1b[31m&"


def test_details_are_folded():
    assert "details" not in outline(fragment("a", [])).tags
    assert outline(fragment("a", [], details="<p>b</p>")).tags[-3:] == ["details", "summary", "p"]


def test_parameters_show_every_field_and_what_is_not_the_default():
    p = mvsim.Parameters(k=3, d=5000, beta_law={"kind": "beta", "a": 2})
    found = outline(p._repr_html_())
    assert all(f"{name}" in found.text for name in mvsim.Parameters.model_fields)
    assert "5000" in found.text
    assert found.text.count("not the default") == 2
    assert outline(mvsim.Parameters(k=3)._repr_html_()).text.count("not the default") == 0


def test_a_run_shows_its_headline_and_its_data():
    run = learned_run(integrator="gd", eta=1.0)
    found = outline(run._repr_html_())
    assert run.summary.splitlines()[0] in found.text
    assert "max_correlation" in found.text
    assert {"table", "details"} <= set(found.tags)
    assert "script" not in found.tags


@looping("status", ["holds", "fails"])
def test_a_verdict_shows_its_statement_and_its_numbers(status):
    verdict = mvsim.Verdict("Claim B.4", status, "T_A < 3", 2.0, 3.0, 0.33, "at t = 5")
    text = outline(verdict._repr_html_()).text
    for word in ("Claim B.4", status, "T_A < 3", "2", "3", "at t = 5"):
        assert word in text


def test_a_list_of_verdicts_is_a_table_of_what_was_asked_and_of_what_is_against_something():
    theorem = mvsim.Verdict("Theorem 4.7 (features)", "holds", "both are learned", kind="theorem", number="4.7", detail="4 of 4 classes")
    against = mvsim.Verdict("Corollary B.26", "contradicted", "they never fall", 0.5, 0.01, -49.0)
    measured = mvsim.Verdict("Claim B.2", "measured", "it is bounded", 2.0, 3.0, 0.33)
    html = Verdicts([theorem, against, measured])._repr_html_()
    shown, folded = html.split("<details>")
    assert "What was asked for holds in what was judged" in shown
    for words in ("Theorem 4.7 (features): both are learned", "4 of 4 classes", "contradicted", "Corollary B.26: they never fall", "0.01"):
        assert words in shown
    assert "Claim B.2" not in shown
    assert "Claim B.2: it is bounded" in folded
    assert html.count("<table>") == html.count("</table>") == 2
    assert "<details>" not in Verdicts([theorem])._repr_html_()
