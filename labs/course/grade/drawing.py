"""The picture of a hint, as one <svg> that is safe to put into a page; or a sentence that says why there is none."""

import re
import xml.etree.ElementTree as ET

LARGEST = 400_000
"""Characters of one picture."""
TOO_LARGE = "The picture is too large for this page. Run the check in your notebook to see it."
NOT_STILL = "The picture moves, so it is only in the notebook. Run the check there to see it."
FAILED = "The picture could not be drawn here. Run the check in your notebook to see it."
_TAGS = frozenset(
    "svg g path defs use text tspan style rect circle ellipse line polyline polygon clipPath image pattern "
    "linearGradient radialGradient stop marker".split()
)
_OUTSIDE = re.compile(r"@import|url\(\s*['\"]?(?!#)|expression\(|javascript:", re.I)


def drawn(picture, salt=""):
    """Draw what a `Wrong` carries.

    Parameters
    ----------
    picture : callable or None
        As in `labs.kit.exercise.Wrong`.
    salt : str
        Keeps the ids of two equal pictures on one page apart.

    Returns
    -------
    str
        An <svg> element, a sentence, or empty text where there is no picture.
    """
    if picture is None:
        return ""
    made = picture()
    if hasattr(made, "frames"):  # a player: its last step shows where it ended
        made = made.frames[-1][-1]
    if not hasattr(made, "svg"):
        return NOT_STILL
    text = made.svg(salt=salt)
    if len(text) > LARGEST:
        return TOO_LARGE
    return text if is_safe(text) else FAILED


def is_picture(text):
    """Whether `drawn` gave a picture and not a sentence."""
    return text.startswith("<svg")


def is_safe(text):
    """Whether an <svg> draws and does nothing else: no script, no link, nothing from another place.

    It comes from our own code; but the words in it come from learners, and the page is opened by others.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError:
        return False
    for element in root.iter():
        if element.tag.rpartition("}")[2] not in _TAGS or _OUTSIDE.search(element.text or ""):
            return False
        for name, value in element.attrib.items():
            name = name.rpartition("}")[2].lower()
            if name.startswith("on") or _OUTSIDE.search(value):
                return False
            if name == "href" and not value.startswith(("#", "data:image/png;base64,")):
                return False
    return root.tag.endswith("svg") and bool(root.get("aria-label"))
