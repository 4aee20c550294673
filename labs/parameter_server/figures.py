"""The pictures and widgets of lesson 09. What draws, trains or measures is imported when it is called."""

from labs.parameter_server.balance import balance
from labs.parameter_server.placement import how_many_servers
from labs.parameter_server.predictions import predict_many_servers, predict_one_server, reveal
from labs.parameter_server.races import race, staleness, trained
from labs.parameter_server.timing import measure, measured

__all__ = [
    "balance",
    "how_many_servers",
    "measure",
    "measured",
    "predict_many_servers",
    "predict_one_server",
    "race",
    "reveal",
    "staleness",
    "trained",
]
