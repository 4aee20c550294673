"""Honest notebooks: right, wrong, untouched, partly right."""
import pytest
from tiny_course.notebooks import ANSWERS, POINTS, STUBS, learner


def points(result):
    return {mark.exercise: mark.points for mark in result.marks}


def test_solution_gets_full_points(mark):
    result = mark(learner())
    assert points(result) == POINTS
    assert result.full and result.isolation == "isolated" and not result.notes
