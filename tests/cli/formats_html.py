"""What an HTML report must be: well-formed, self-contained, accessible.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Dict, List, Optional, Tuple

ELEMENTS = set("html head meta title style body header main footer section p h1 h2 h3 code span time table thead tbody tr th td div ul ol li details summary "
               "figure figcaption strong svg pattern rect circle path".split())
ATTRIBUTES = set("lang charset http-equiv content name class scope aria-hidden aria-label role viewBox width height x y cx cy r d fill id patternUnits title".split())
VOID = {"meta", "rect", "circle"}


class Balance(HTMLParser):
    """The page as a browser reads it: every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: List[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        assert tag in VOID, f"<{tag}/> is not closed in HTML"

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"<![{data}")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"<!--{data}")


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * c for c in color[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """The ratio of WCAG 2.2."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_colors(css: str) -> None:
    schemes = [dict(re.findall(r"--(\w+):(#[0-9a-fA-F]+)", block)) for block in re.findall(r":root\{([^}]*)\}", css)]
    assert len(schemes) == 3, "light, dark, paper"
    assert "prefers-color-scheme:dark" in css and "@media print" in css
    for scheme in schemes:
        colors: Dict[str, str] = {**schemes[0], **scheme}
        for ink in ("ink", "dim", "bad", "good", "user"):
            for ground in ("bg", "card", "tint"):
                ratio = contrast(colors[ink], colors[ground])
                assert ratio >= 4.5, f"{ink} on {ground}: {ratio:.2f}"
        for ink in ("hit", "idle"):  # graphics: 3 is enough (1.4.11)
            assert contrast(colors[ink], colors["card"]) >= 3, f"{ink}: {contrast(colors[ink], colors['card']):.2f}"


def check_headings(root: ElementTree.Element) -> None:
    levels = [int(e.tag[1]) for e in root.iter() if re.fullmatch("h[1-6]", e.tag)]
    assert levels and levels[0] == 1 and levels.count(1) == 1, levels
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels


def check_tables(root: ElementTree.Element) -> None:
    for table in root.iter("table"):
        heads = list(table.iter("th"))
        assert heads and all(th.get("scope") in ("row", "col") for th in heads)
        rows = [len(tr) for tr in table.iter("tr")]
        assert len(set(rows)) == 1, f"rows of {rows} cells"


def check_pictures(root: ElementTree.Element) -> None:
    for svg in root.iter("svg"):
        assert svg.get("role") == "img" and svg.get("aria-label")
        _, _, width, height = (int(n) for n in svg.get("viewBox", "").split())
        assert 0 < width <= 64 * 12 and 0 < height <= 64 * 12
        hits = [p for p in svg.iter("path")]
        assert all(p.find("title") is not None and p.find("title").text for p in hits)  # type: ignore[union-attr]
    for figure in root.iter("figure"):
        assert figure.find("figcaption") is not None
        assert "Filled" in "".join(figure.itertext()), "a picture explains itself"


def check_page(page: str) -> str:
    """Returns the text of the page."""
    assert page.startswith("<!DOCTYPE html>\n")
    root = ElementTree.fromstring(page)
    balance = Balance()
    balance.feed(page)
    balance.close()
    assert balance.open == [], balance.open
    assert root.tag == "html" and root.get("lang") == "en"
    for element in root.iter():
        assert element.tag in ELEMENTS, element.tag
        assert set(element.attrib) <= ATTRIBUTES, element.attrib
        fill = element.get("fill")
        assert fill is None or re.fullmatch(r"url\(#[\w-]+\)", fill), "nothing is loaded from elsewhere"
        assert element.tag != "summary" or element.text or len(element)
        assert element.tag != "details" or element[0].tag == "summary"
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)), ids
    css = "".join(e.text or "" for e in root.iter("style"))
    assert css and "url(" not in css and "@import" not in css
    assert (root.findtext("head/title") or "").endswith(" - cudatrap")
    check_colors(css)
    check_headings(root)
    check_tables(root)
    check_pictures(root)
    for mark in root.iter("td"):  # not by colour alone
        if "mark" in mark.get("class", "").split():
            assert re.search(r"[a-z]{2}", "".join(mark.itertext()))
    return "".join(text for e in root.iter("body") for text in e.itertext())
