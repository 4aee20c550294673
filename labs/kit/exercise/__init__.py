"""What an exercise is: cases, a verdict that names the misconception, hints, progress, predictions and questions."""

from labs.kit.exercise import plain, progress
from labs.kit.exercise.case import Case, Wrong, short
from labs.kit.exercise.exercise import PUBLIC_SEED, Exercise, Gone, NotYet, Outcome, public_seed
from labs.kit.exercise.explain import Stopped
from labs.kit.exercise.failures import completed
from labs.kit.exercise.prediction import Prediction, predict
from labs.kit.exercise.quiz import Question
from labs.kit.exercise.report import Report
from labs.kit.exercise.scoring import score
from labs.kit.exercise.selfcontained import check_self_contained

__all__ = [
    "PUBLIC_SEED",
    "Case",
    "Exercise",
    "Gone",
    "NotYet",
    "Outcome",
    "Prediction",
    "Question",
    "Report",
    "Stopped",
    "Wrong",
    "check_self_contained",
    "completed",
    "plain",
    "predict",
    "progress",
    "public_seed",
    "score",
    "short",
]
