"""Exercise parse_row: the numbers of one line of text, or an error that names the field; never a silent zero."""

from __future__ import annotations

import re

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, line, skip=0, shows="plain", part="correct", comma=False):
        return Case(title, {"line": line, "skip": skip, "shows": shows, "comma": comma}, part)

    drawn = ",".join(repr(float(number)) for number in rng.normal(scale=100, size=int(rng.integers(5, 12))))
    far, near = int(rng.integers(3, 7)), int(rng.integers(2, 5))
    words = [str(k) for k in range(1, 9)]
    words[far - 1] = "n/a"
    return [
        case("three numbers", "1,2.5,-3e2"),
        case("numbers drawn at random", drawn),
        case("one number", "7"),
        case("a name before the numbers", "Oslo,1.5,2", 1),
        case("a line that ends in CR LF", "1,2,3\r\n", shows="line_end"),
        case("an empty field", "1,,3", shows="empty"),
        case("nothing behind the last comma", "1,2,", shows="trailing"),
        case("a field with a rest: 12abc", "1,12abc,3", shows="rest"),
        case(f"a word in field {far}", ",".join(words), shows="place"),
        case("a quoted name with a comma in it", '"Oslo, Norway",1.5,2', 1, shows="quoted"),
        case("hexadecimal: 0x1A", "1,0x1A", shows="hexadecimal"),
        case("a number beyond float64: 1e400", "1,1e400,2", shows="range"),
        case("where a decimal comma is the custom", "1.5,2.25", shows="locale", comma=True),
        case("an empty line: one empty field", "", shows="blank", part="edge"),
        case("a line that ends in LF", "4,5\n", shows="line_end", part="edge"),
        case("nothing but a name", "Oslo", 1, shows="only_text", part="edge"),
        case("a name with quotes in it", '"the ""old"" town, north",1', 1, "quoted", "edge"),
        case(f"{near} fields of text", ",".join(['"x,y"'] * near) + ",1,2", near, shows="quoted", part="edge"),
        case("a word behind the text: field 3", "a,b,c,1", 2, shows="place", part="edge"),
        case("the smallest and the largest", "5e-324,1.7976931348623157e308,-0.0", part="edge"),
        case("2,000 numbers", ",".join(map(str, range(2000))), part="edge"),
    ]


def run(answers, inputs):
    answer, found = answers[0], ""
    if inputs["comma"] and hasattr(answer, "with_options"):
        for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "it_IT.UTF-8", "de_DE"):
            try:
                numbers = answer.with_options(locale=name)(inputs["line"], inputs["skip"])
            except ValueError as error:
                if "is not installed" in str(error):
                    continue
                return {"refused": str(error), "kind": "ValueError", "locale": name}
            return {"numbers": [float(number) for number in numbers], "locale": name}
    try:
        numbers = answer(inputs["line"], inputs["skip"])
    except (ValueError, IndexError, OverflowError) as error:
        return {"refused": str(error), "kind": type(error).__name__, "locale": found}
    return {"numbers": [float(number) for number in numbers], "locale": found}


def right(line, skip):
    """The numbers, and None; or what went well before, and the number of the field that is refused. By other means."""
    line = line.rstrip("\r\n")
    fields = re.findall(r'(?:^|,)((?:"(?:[^"]|"")*"|[^,"])*)', line)
    numbers = []
    for place, field in enumerate(fields, start=1):
        if place <= skip:
            continue
        if not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", field) or np.isinf(float(field)):
            return numbers, place
        numbers.append(float(field))
    return numbers, None


_LOCALE = (
    "from_chars always reads 1.5 and never asks anybody. strtod, stod, atof and scanf ask the process which sign is the "
    "decimal point.",
    "auto [end, error] = std::from_chars(first, last, value); then look at error and at end.",
)
_REFUSED = {
    "line_end": (
        "line_end",
        "Your function refuses a line that ends as lines on Windows do. What stands behind the last digit?",
        r"Files bring \r\n, and reading a line often leaves the \r or both.",
        r"Before you split: while the line is not empty and its last character is \n or \r, line.remove_suffix(1).",
    ),
    "quoted": (
        "quoted_delimiter",
        "Your function refuses a line whose name holds a comma. Is that comma between two fields?",
        "Within quotes a comma is text. Remember, from character to character, whether you are within quotes.",
        "if (line[i] == '\"') quoted = !quoted; and split at a comma only when not quoted. A doubled quote toggles twice.",
    ),
    "locale": (
        "locale_dependent",
        "In a program that speaks German, your function does not read 1.5. Whom does it ask for the decimal point?",
        *_LOCALE,
    ),
    "only_text": (
        "text_refused",
        "There is nothing but text in this line, and that was to be passed over. What did you read?",
        "Only fields behind the first `skip` are numbers.",
    ),
}
_ACCEPTED = {
    "empty": (
        "silent_zero",
        "An empty field became a number. Would you ever find out that a measurement is missing?",
        "atof returns 0 for what it cannot read, and says nothing. A vector of zeros does the same.",
        "from_chars reports an error for an empty field: throw then.",
    ),
    "trailing": (
        "lost_last",
        "Nothing stands behind the last comma, and your function does not say so. How many fields has 1,2, ?",
        "Three: one more than there are commas. The last field ends at the end of the line, not at a comma.",
        "Let the loop run to i == line.size() and treat the end like a comma.",
    ),
    "blank": (
        "blank_line",
        "An empty line gave you no error. One empty field is still a field: what would a table of one column lose?",
        "The last field ends at the end of the line. Check it also when it is the first one.",
    ),
    "rest": (
        "rest_ignored",
        "12abc became 12. Which part of the field did nobody look at?",
        "from_chars stops at the first character that does not belong to the number, and returns where.",
        "Unless `end` is the end of the field, it is not a number: throw.",
    ),
    "hexadecimal": (
        "strtod",
        "0x1A became 26. Who reads numbers for you, and what else does it accept?",
        "strtod, stod, atof and scanf read hexadecimal numbers and blanks, and they take the decimal point from the "
        "process's locale: in a program that speaks German, 1.5 is 1 with a rest.",
        _LOCALE[1],
    ),
    "range": (
        "range_ignored",
        "No float64 is as large as 1e400, but your function returned a number. Which one?",
        "from_chars has two ways to fail: std::errc::invalid_argument and std::errc::result_out_of_range.",
        "if (error != std::errc() || end != last) throw ... catches both.",
    ),
    "place": (
        "word_accepted",
        "A word became a number. Which one, and who decided that?",
        "Look at the error that from_chars returns.",
    ),
}


def verify(case, output):
    line, skip, shows = case.inputs["line"], case.inputs["skip"], case.inputs["shows"]
    wanted, place = right(line, skip)
    known = f"\nline: {short(repr(line), 80)}" + (f", the first {skip} of text" if skip else "")
    known += f"\nlocale of the process: {output['locale']}" if output.get("locale") else ""
    if "refused" in output:
        _refused(output, shows, place, skip, wanted, known)
    else:
        _accepted(output["numbers"], shows, place, wanted, known)


def _raise(words, evidence):
    hint, question, *then = words
    raise Wrong(hint, question + evidence, then=then)


def _refused(output, shows, place, skip, wanted, known):
    said = f"\nyour error: {short(output['refused'] or '(without a text)', 120)}"
    if place is None:
        usual = ("refused", "Your function refuses a good line. Which field is it that it cannot read?")
        _raise(_REFUSED.get(shows, usual), f"{known}\nexpected {short(wanted, 80)}{said}")
    numbers = [int(digits) for digits in re.findall(r"(?<![\w.])\d+(?![\w.])", output["refused"])]
    if place not in numbers:
        counted = place - 1 in numbers
        if skip and place - skip in numbers:
            raise Wrong(
                "text_not_counted",
                f"Your error says {place - skip}, and the bad field is number {place}. Are fields of text no fields?"
                + known
                + said,
                then=("Count every field of the line, also those that you pass over.",),
            )
        raise Wrong(
            "counts_from_zero" if counted else "no_place",
            (
                f"Your error says {place - 1}, and the bad field is number {place}. From where do people count?"
                if counted
                else "Your error does not say which field is bad. Who will look for it in a million lines?"
            )
            + known
            + said
            + f"\nexpected an error that names field {place}",
            then=(
                "Fields are counted from 1, those of text included."
                if counted
                else "Put the number of the field, from 1, into the text of the exception.",
                'throw std::invalid_argument("field " + std::to_string(field) + ": expected a number");',
            ),
        )


def _accepted(got, shows, place, wanted, known):
    evidence = f"{known}\nyours    {short(got, 80)}"
    if place is not None:
        usual = ("accepted", "Your function returns numbers for a line that has none in one field. Which one?")
        _raise(_ACCEPTED.get(shows, usual), f"{evidence}\nexpected an error that names field {place}")
    evidence += f"\nexpected {short(wanted, 80)}"
    if len(got) == len(wanted) and all(a == b or (a != a and b != b) for a, b in zip(got, wanted)):
        return
    if got == wanted[:-1]:
        raise Wrong(
            "lost_last",
            "The last number is missing. Where does the last field end?" + evidence,
            then=(
                "There is one comma fewer than there are fields. The last field ends at the end of the line.",
                "Let the loop run to i == line.size() and treat the end like a comma.",
            ),
        )
    if shows == "locale":
        _raise(_REFUSED["locale"], evidence)
    if shows == "quoted":
        _raise(("quoted_delimiter", *_REFUSED["quoted"][1:]), evidence)
    if len(got) == len(wanted):
        raise Wrong(
            "inexact",
            "Right fields, but not the nearest float64. Did you compute the number from its digits yourself?"
            + evidence,
            then=("Multiplying by 10 or 0.1 rounds each time. std::from_chars gives the nearest float64.",),
        )
    raise Wrong(
        "fields",
        f"There are {len(wanted)} numbers, and you found {len(got)}. Which fields did you take?" + evidence,
        then=("Pass over the first `skip` fields, and take all others.",),
    )


def achieved(outputs):
    asked = next((output["locale"] for case, output in outputs if case.inputs["comma"]), "")
    custom = asked or "not tried: no locale with a decimal comma is installed here (none is needed)"
    refused = sum("refused" in output for _, output in outputs)
    return [("bad lines refused, with the field's number", f"{refused}"), ("in another locale", custom)]


parse_row = Exercise("parse_row", "Parse a row", 3, cases, run, verify, achieved=achieved)
