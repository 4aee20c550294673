"""The pictures, widgets and measurements of lesson 21. What draws or measures is imported when it is called."""

from labs.cpp_data_formats.facts import check as facts
from labs.cpp_data_formats.formats import chart, measure, sizes_chart
from labs.cpp_data_formats.layout import picture as layout
from labs.cpp_data_formats.others import show as read_by_others
from labs.cpp_data_formats.others import show_traps
from labs.cpp_data_formats.possible import parts, prepare, where_possible
from labs.cpp_data_formats.widgets import explore_layout, explore_slabs, predict_json, reveal_json

__all__ = [
    "chart",
    "explore_layout",
    "explore_slabs",
    "facts",
    "layout",
    "measure",
    "parts",
    "predict_json",
    "prepare",
    "read_by_others",
    "reveal_json",
    "show_traps",
    "sizes_chart",
    "where_possible",
]
