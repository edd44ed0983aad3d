"""What is plain, and how the rest is shown."""

from __future__ import annotations

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosched.cli.output import ERR, print_error, print_json, table
from autosched.errors import InvalidInput
from autosched.plain import PLAIN_PATTERN, check_plain, is_plain, shown, shown_json
from autosched.wire.job import EXAMPLE_JOB, JobDocument

TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Classes of characters that turn the direction of writing."""

MARKS = "\u200e\u200f\u061c"


def test_what_is_refused_is_what_terminals_and_databases_take_ill() -> None:
    for number in range(sys.maxunicode + 1):
        char = chr(number)
        refused = (
            unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}
            or unicodedata.bidirectional(char) in TURNING
            or char in MARKS
        )
        assert is_plain(char) != refused, ascii(char)


@given(st.text())
def test_the_pattern_says_the_same(text: str) -> None:
    assert (re.fullmatch(PLAIN_PATTERN, text) is not None) == is_plain(text)


@given(st.text(st.characters()))
def test_what_is_shown_is_plain_line_by_line(text: str) -> None:
    assert all(is_plain(part) for part in re.split(r"[\n\t]", shown(text)))
    if is_plain(text):
        assert shown(text) == text


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_that_is_shown_is_the_same_document(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(shown_json(text)) == value
    assert is_plain(shown_json(text).replace("\n", ""))


@pytest.mark.parametrize("char", ["\0", "\x1b", "\n", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_a_refusal_names_what_it_refuses(char: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        check_plain("label", f"a{char}b")
    assert ascii(char) in str(raised.value)
    assert is_plain(str(raised.value))


HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31m\u202ecod"
SHOWN = r"a\x1b[2J\x1b]0;owned\x07b\x9b31m\u202ecod"


def test_a_terminal_is_sent_what_others_wrote_spelled_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_error(HOSTILE)
    ERR.print(table("", ("name",), [(HOSTILE,)]))
    print_json(JobDocument.model_validate({**EXAMPLE_JOB, "source": HOSTILE}))
    found = capsys.readouterr()
    assert is_plain((found.out + found.err).replace("\n", ""))
    assert found.err.count(SHOWN) == 2
    assert json.loads(found.out)["source"] == HOSTILE
