"""Results as a table for people, JSON for programs and JUnit XML for CI."""

import json
import xml.etree.ElementTree as ET

SIGNS = {"solved": "✔", "partly": "◐", "wrong": "✘", "lost": "✘", "unsolved": "○", "not graded": "○"}
NOT_SOLVED = "Not solved yet."


def table(results):
    """Return the results as text: a line per exercise with its hint's question, then notes and totals."""
    blocks = [_block(result) for result in results]
    if len(results) > 1:
        points, of = sum(r.points for r in results), sum(r.of for r in results)
        blocks.append(f"{len(results)} notebooks, {_number(points)} of {_number(of)} points")
    not_isolated = sorted({r.isolation for r in results if r.isolation and r.isolation != "isolated"})
    return "\n\n".join([*blocks, *not_isolated])


def _block(result):
    head = f"{result.notebook}: {_number(result.points)} of {_number(result.of)} points ({result.seconds:.1f} s)"
    if result.refused:
        return f"{head}\n  ✘ {result.refused}"
    width = max([len(mark.exercise) for mark in result.marks], default=0)
    lines = [head]
    for mark in result.marks:
        score = f"{_number(mark.points):>4} of {_number(mark.of):<4}"
        says = {"solved": "", "unsolved": NOT_SOLVED}.get(mark.status, mark.question)
        hint = f"  [{mark.hint}]" if mark.hint and mark.status not in ("solved", "unsolved") else ""
        lines.append(f"  {SIGNS[mark.status]} {mark.exercise:<{width}} {score} {says}{hint}".rstrip())
    lines += [f"  · {note}" for note in result.notes]
    return "\n".join(lines)


def as_json(results):
    """Return the results as JSON text."""
    data = {
        "format": 1,
        "points": sum(r.points for r in results),
        "of": sum(r.of for r in results),
        "notebooks": [r.as_data() for r in results],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def junit(results):
    """Return the results as JUnit XML text: a suite per notebook, a case per exercise.

    A wrong answer is a failure, an answer that crashed or hung an error, an unsolved one is skipped. A notebook that
    could not be graded is a suite with one case in error.
    """
    suites = [_suite(result) for result in results]
    root = ET.Element("testsuites", name="Warp to Cluster", **_sums(suites))
    root.extend(suites)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result):
    suite = ET.Element("testsuite", name=_xml(result.notebook))
    properties = ET.SubElement(suite, "properties")
    facts = {"points": _number(result.points), "of": _number(result.of), "isolation": result.isolation}
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    group = _xml(result.lesson or "unknown lesson")
    each = f"{result.seconds / max(1, len(result.marks)):.3f}"
    if result.refused:
        case = ET.SubElement(suite, "testcase", classname=group, name="notebook", time=f"{result.seconds:.3f}")
        ET.SubElement(case, "error", type="refused", message=_xml(result.refused))
    for mark in () if result.refused else result.marks:
        case = ET.SubElement(suite, "testcase", classname=group, name=_xml(mark.exercise), time=each)
        says = {"type": _xml(mark.hint or mark.status), "message": _xml(mark.question or NOT_SOLVED)}
        if mark.status in ("unsolved", "not graded"):
            ET.SubElement(case, "skipped", message=NOT_SOLVED)
        elif mark.status != "solved":
            inner = ET.SubElement(case, "error" if mark.status == "lost" else "failure", **says)
            inner.text = _xml(f"in the case: {mark.case}")
        ET.SubElement(case, "system-out").text = _xml(f"{_number(mark.points)} of {_number(mark.of)} points")
    counts = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error",
              "skipped": "testcase/skipped"}  # fmt: skip
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    suite.set("time", f"{result.seconds:.3f}")
    if result.notes:
        ET.SubElement(suite, "system-out").text = _xml("\n".join(result.notes))
    return suite


def _sums(suites):
    sums = {name: str(sum(int(s.get(name)) for s in suites)) for name in ("tests", "failures", "errors", "skipped")}
    return sums | {"time": f"{sum(float(s.get('time')) for s in suites):.3f}"}


def _xml(text):
    """Text without the characters that XML 1.0 forbids."""
    return "".join(c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "�"
                   for c in str(text))  # fmt: skip


def _number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")
