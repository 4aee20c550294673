"""Results as JUnit XML, which every CI service shows: a suite for each notebook, a case for each exercise.

Elements and attributes are those of the schema that Jenkins publishes (``junit-10.xsd``).
"""

import xml.etree.ElementTree as ET

from labs.course.grade.grades import number

NOT_SOLVED = "Not solved yet."
SUMS = ("tests", "failures", "errors", "skipped")


def junit(results):
    """Return the results as text.

    A wrong answer is a failure, an answer that crashed or hung an error, an unsolved one is skipped. A notebook that
    could not be graded is a suite with one case in error.

    Parameters
    ----------
    results : sequence of labs.course.grade.marks.Result
    """
    suites = [_suite(result) for result in results]
    root = ET.Element("testsuites", name="Warp to Cluster", **_sums(suites))
    root.extend(suites)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result):
    suite = ET.Element("testsuite", name=_xml(result.notebook))
    properties = ET.SubElement(suite, "properties")
    facts = {"points": number(result.points), "of": number(result.of), "isolation": result.isolation}
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    group = _xml(result.lesson or "unknown lesson")
    if result.refused:
        case = ET.SubElement(suite, "testcase", classname=group, name="notebook", time=f"{result.seconds:.3f}")
        ET.SubElement(case, "error", type="refused", message=_xml(result.refused))
    for mark in () if result.refused else result.marks:
        suite.append(_case(mark, group))
    counts = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error",
              "skipped": "testcase/skipped"}  # fmt: skip
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    suite.set("time", f"{result.seconds:.3f}")
    if result.notes:
        ET.SubElement(suite, "system-out").text = _xml("\n".join(result.notes))
    return suite


def _case(mark, group):
    case = ET.Element("testcase", classname=group, name=_xml(mark.exercise), time=f"{mark.seconds:.3f}")
    if mark.status in ("unsolved", "not graded"):
        ET.SubElement(case, "skipped", message=NOT_SOLVED)
    elif mark.status != "solved":
        says = {"type": _xml(mark.hint or mark.status), "message": _xml(mark.question or NOT_SOLVED)}
        inner = ET.SubElement(case, "error" if mark.status == "lost" else "failure", **says)
        inner.text = _xml("\n".join(filter(None, [f"in the case: {mark.case}", mark.evidence])))
    ET.SubElement(case, "system-out").text = _xml(f"{number(mark.points)} of {number(mark.of)} points")
    return case


def _sums(suites):
    sums = {name: str(sum(int(s.get(name)) for s in suites)) for name in SUMS}
    return sums | {"time": f"{sum(float(s.get('time')) for s in suites):.3f}"}


def _xml(text):
    """Text without the characters that XML 1.0 forbids."""
    return "".join(c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "�"
                   for c in str(text))  # fmt: skip
