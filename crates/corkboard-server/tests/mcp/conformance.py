"""Runs the public MCP conformance suite against the fixture server and compares the result with the report in docs/.

Usage: conformance.py FIXTURE FOLDER. With CORK_WRITE_FIXTURES=1, it updates the report instead.
"""

import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

FIXTURE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE.parents[3] / "docs" / "mcp-conformance.md"
REVISIONS = ("2025-11-25", "2026-07-28")
SUITE = "@modelcontextprotocol/conformance"
INTRODUCTION = """# MCP conformance

`make mcp` runs the public conformance suite, `{suite}` {version}, against
Corkboard's MCP server over HTTP, once for each revision of the protocol, and compares the results with this page. The
server is the real one. A test-only wrapper (`mcp-fixture`) adds the tools, prompts and resources that the suite calls
by name.

Each cell shows how many checks of a scenario passed. "–" means that the suite has no such scenario for the revision.
"Not scored" is the suite's own word for scenarios that conformance does not require.

| scenario | {revisions} |
|---|{dashes}|
"""


def expected_failures(revision):
    """The scenarios of the revision's list of expected failures, each with the comment above it."""
    reasons, reason = {}, ""
    for line in (HERE / f"expected-failures-{revision}.yml").read_text().splitlines():
        if comment := re.fullmatch(r"\s*# (.+)", line):
            reason = comment[1]
        elif item := re.fullmatch(r"\s*- (\S+)", line):
            assert reason, f"{item[1]} needs a reason in a comment above it"
            reasons[item[1]] = reason
    return reasons


def run(url, revision):
    """Runs all scenarios of a revision. Returns the checks of each, and why the suite does not score some."""
    output = FOLDER / revision
    baseline = HERE / f"expected-failures-{revision}.yml"
    command = ["conformance", "server", "--url", url, "--requirements", revision, "-o", str(output)]
    ran = subprocess.run(command + ["--expected-failures", str(baseline)], capture_output=True, text=True)
    checks = {}
    for folder in sorted(output.iterdir()):
        name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", folder.name)[1]
        checks[name] = json.loads((folder / "checks.json").read_text())
    if ran.returncode != 0:
        for name, listed in checks.items():
            for check in listed:
                if check["status"] not in ("SUCCESS", "SKIPPED", "INFO"):
                    print(f"{revision} {name} {check['id']}: {check.get('errorMessage')}", file=sys.stderr)
        sys.exit(ran.stdout[-4000:] + ran.stderr[-4000:] + f"\nthe suite exited with {ran.returncode}")
    requirements = pathlib.Path(shutil.which(command[0])).resolve().parents[1] / "requirements" / f"{revision}.yaml"
    entry = re.compile(r"- scenario: (\S+)\n    leg: server\n    reason: (\S+)")
    return checks, dict(entry.findall(requirements.read_text()))


def cell(checks, unscored, reason):
    if checks is None:
        return "–"
    counts = {status: sum(check["status"] == status for check in checks) for status in ("SUCCESS", "FAILURE", "WARNING")}
    total = sum(counts.values())
    if total == 0:
        shown = "skipped by the suite"
    elif reason:
        shown = f"fails: {reason}"
    else:
        shown = f"{counts['SUCCESS']} of {total}"
    return f"{shown} (not scored)" if unscored else shown


def main():
    version = json.loads((HERE / "package.json").read_text())["devDependencies"][SUITE]
    fixture = subprocess.Popen([FIXTURE], stdout=subprocess.PIPE, text=True)
    try:
        url = fixture.stdout.readline().strip()
        results = {revision: run(url, revision) for revision in REVISIONS}
    finally:
        fixture.kill()
        fixture.wait()
    dashes = "|".join("---" for _ in REVISIONS)
    report = INTRODUCTION.format(suite=SUITE, version=version, revisions=" | ".join(REVISIONS), dashes=dashes)
    scenarios = {name: None for revision in REVISIONS for name in results[revision][0]}
    totals = []
    for revision in REVISIONS:
        checks, unscored = results[revision]
        scored = [listed for name, listed in checks.items() if name not in unscored]
        passed = sum(all(check["status"] != "FAILURE" for check in listed) for listed in scored)
        totals.append(f"{passed} of {len(scored)} scored scenarios")
    for name in sorted(scenarios):
        cells = []
        for revision in REVISIONS:
            checks, unscored = results[revision]
            cells.append(cell(checks.get(name), unscored.get(name), expected_failures(revision).get(name)))
        report += f"| {name} | {' | '.join(cells)} |\n"
    report += f"| **passed** | {' | '.join(totals)} |\n"
    if os.environ.get("CORK_WRITE_FIXTURES"):
        REPORT.write_text(report)
    known = REPORT.read_text() if REPORT.exists() else ""
    if report != known:
        lines = difflib.unified_diff(known.splitlines(), report.splitlines(), "docs/mcp-conformance.md", "this run", lineterm="")
        sys.exit("\n".join([*lines, "update the report with: CORK_WRITE_FIXTURES=1 make mcp"]))
    print(f"conformance: {', '.join(f'{revision}: {total}' for revision, total in zip(REVISIONS, totals))}")


main()
