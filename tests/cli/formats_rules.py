"""What JUnit, SARIF, GitLab, GitHub and Markdown readers demand, in so many rules.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, List, Set, Tuple
from urllib.parse import urlparse

# Of junit-10.xsd of Jenkins' xunit plugin, as far as we use it: attributes (required, optional), children.
JUNIT: Dict[str, Tuple[Set[str], Set[str], Set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
                  {"testsuite", "properties", "testcase", "system-out", "system-err"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"failure", "error", "skipped", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
}


def check_junit(text: str) -> None:
    def walk(element: ElementTree.Element) -> None:
        required, optional, children = JUNIT[element.tag]
        have = set(element.attrib)
        assert required <= have <= required | optional, (element.tag, have)
        for child in element:
            assert child.tag in children, (element.tag, child.tag)
            walk(child)

    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites" and len(root) == 1
    walk(root)
    suite = root[0]
    cases = suite.findall("testcase")
    assert suite.get("name") == "cudatrap" and len(cases) == 1 and suite.get("tests") == suite.get("failures") == "1"
    stamp = suite.get("timestamp")
    assert stamp is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", stamp), stamp
    failure = cases[0].find("failure")
    assert cases[0].get("name") and failure is not None and failure.get("type") and failure.get("message")
    assert (failure.text or "").startswith("cudatrap: "), "the text report"
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert re.fullmatch("[0-9a-f]{16}", properties["signature"] or ""), properties


def check_location(location: Dict[str, Any], bases: Set[str]) -> None:
    assert "physicalLocation" in location or "logicalLocations" in location or "message" in location
    if "physicalLocation" not in location:
        return
    physical = location["physicalLocation"]
    artifact = physical["artifactLocation"]
    parsed = urlparse(artifact["uri"])
    assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+", artifact["uri"]) and not re.search(r"%(?![0-9A-F]{2})", artifact["uri"]), artifact
    assert parsed.scheme == ("" if "uriBaseId" in artifact else "file"), artifact
    assert artifact.get("uriBaseId", "WORKDIR") in bases | {"WORKDIR"}
    assert isinstance(physical["region"]["startLine"], int) and physical["region"]["startLine"] >= 1


def check_sarif(text: str) -> None:
    """The required properties of SARIF 2.1.0, sections 3.13 to 3.38."""
    log = json.loads(text)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    (rule,) = driver["rules"]
    (result,) = run["results"]
    bases = run.get("originalUriBaseIds", {})
    assert all(b["uri"].startswith("file:///") and b["uri"].endswith("/") for b in bases.values()), bases
    assert driver["name"] == "cudatrap" and re.fullmatch("[a-z-]+", rule["id"]) and rule["shortDescription"]["text"]
    assert result["ruleId"] == rule["id"] and result["ruleIndex"] == 0 and result["level"] == "error" and result["message"]["text"]
    assert re.fullmatch("[0-9a-f]{16}", result["partialFingerprints"]["signature/v1"])
    for location in result["locations"]:
        assert "physicalLocation" in location
        check_location(location, set(bases))
    for flow in result.get("codeFlows", []):
        assert flow["threadFlows"]
        for thread in flow["threadFlows"]:
            assert thread["locations"]
            for step in thread["locations"]:
                check_location(step["location"], set(bases))


def check_gitlab(text: str) -> None:
    (issue,) = json.loads(text)
    assert issue["description"] and re.fullmatch("[a-z-]+", issue["check_name"]) and re.fullmatch("[0-9a-f]{16}", issue["fingerprint"])
    assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert issue["location"]["path"] and not issue["location"]["path"].startswith("./") and issue["location"]["lines"]["begin"] >= 1


def check_github(text: str) -> None:
    assert text.count("\n") == 1 and text.endswith("\n") and "\r" not in text
    match = re.fullmatch(r"::error (?:file=([^,:\n]+),line=(\d+),)?title=([^,:\n]+)::([^\n]+)\n", text)
    assert match, text
    assert not re.search(r"%(?!25|0A|0D|3A|2C)", match.group(1) or "") and not re.search(r"%(?!25|0A|0D|3A|2C)", match.group(3) + match.group(4)), text


def without_code(text: str) -> str:
    """Markdown with its fenced blocks and code spans taken out, as CommonMark finds them."""
    kept: List[str] = []
    fence = ""
    for line in text.split("\n"):
        opening = re.match(r"(`{3,})[^`]*$", line)
        if fence:
            if re.fullmatch("`{%d,} *" % len(fence), line):
                fence = ""
        elif opening:
            fence = opening.group(1)
        else:
            kept.append(re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "<CODE>", line))
    assert not fence, "a block is not closed"
    return "\n".join(kept)


def check_markdown(text: str) -> None:
    assert len(text.encode()) <= 60000
    rest = without_code(text)
    assert rest.startswith("## ") and rest.count("<details><summary>") == rest.count("</details>") == 1
    for own in ("<CODE>", "<br>", "<details>", "</details>", "<summary>", "</summary>", "**"):
        rest = rest.replace(own, "")
    for line in rest.split("\n"):
        line = re.sub(r"^(- |#{2,3} )", "", line)
        found = re.search(r"[<>&@#\[\]|\\`*!~]|://|www\.|[0-9a-f]{7}", line)
        assert not found, (found, line)
        assert not re.match(r"\s*(\d+[.)]|[-+=])", line), line
