"""Headings and tables in step, pictures with words: a deliberately broken page for each rule."""

import pytest

from labs.course.lint.prose import check_page, headings

GOOD = """# Title

## One

| a | b |
|---|---|
| `x \\| y` | 2 |

### Deeper

![Four ranks in a ring](ring.png)

```text
# not a heading
| not | a | table
![](nor a picture)
```

## Two
"""


def test_a_good_page_has_no_faults():
    assert list(check_page([("a.md", GOOD)])) == []


BAD = [
    ("## One", "# One", "a.md, line 3: '# One' is a second title"),
    ("### Deeper", "#### Deeper", "a.md, line 9: '#### Deeper' skips a level. Use '###'."),
    ("# Title", "## Title", "a.md, line 1: the first heading is '## Title'"),
    ("## Two", "## One", "a.md, line 19: the heading 'One' stands at a.md, line 3 too"),
    ("\\|", "|", "a.md, line 7: a row of 3 cells in a table of 2"),
    ("| 2 |", "", "a.md, line 7: a row of 1 cells in a table of 2"),
    ("![Four ranks in a ring]", "![ ]", "a.md, line 11: a picture without a text alternative"),
    ("![Four ranks in a ring](ring.png)", '<img src="ring.png">', "a.md, line 11: a picture without"),
    ("![Four ranks in a ring](ring.png)", '<img alt="" src="ring.png">', "a.md, line 11: a picture without"),
]


@pytest.mark.parametrize(("old", "new", "words"), BAD)
def test_a_bad_page_is_named_with_its_line(old, new, words):
    (fault,) = check_page([("a.md", GOOD.replace(old, new, 1))])
    assert fault.startswith(words)


def test_levels_go_on_from_one_cell_to_the_next():
    (fault,) = check_page([("cell 1", "# Title"), ("cell 2", "Words."), ("cell 3", "Words.\n\n### Deep")])
    assert fault == "cell 3, line 3: '### Deep' skips a level. Use '##'."


def test_headings_have_line_level_and_words():
    assert headings("# A #\n~~~\n# no\n~~~\n#no\n### B `c`") == [(1, 1, "A"), (6, 3, "B `c`")]
