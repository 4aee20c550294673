"""The pictures, widgets and measurements of lesson 12. What draws or trains is imported when it is called."""

from labs.pipeline_parallel.bugs import curves as three_bugs
from labs.pipeline_parallel.calculator_picture import calculator
from labs.pipeline_parallel.drawings import compare, play, schedule_of, show, thin_stages, to_read, unsplit
from labs.pipeline_parallel.planning import plan
from labs.pipeline_parallel.predictions import predict_after_1f1b, predict_idle, reveal_after_1f1b, reveal_idle
from labs.pipeline_parallel.real import measure, measured, real_step, table

__all__ = [
    "calculator",
    "compare",
    "measure",
    "measured",
    "plan",
    "play",
    "predict_after_1f1b",
    "predict_idle",
    "real_step",
    "reveal_after_1f1b",
    "reveal_idle",
    "schedule_of",
    "show",
    "table",
    "thin_stages",
    "three_bugs",
    "to_read",
    "unsplit",
]
