"""Step 2 inside the sandbox: call the answer, hand back plain data. Nothing that comes from here is trusted."""

from labs.kit.exercise import plain
from labs.kit.exercise.answers import is_answer, untouched
from labs.kit.exercise.explain import clip, where

MIME = "application/x-labs-plain"


class Frame:
    """What IPython sends back as the value of an expression: text under one MIME type."""

    def __init__(self, text):
        self.text = text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {MIME: self.text}


def call(names, wanted, run_source, symbol, inputs):
    """Run one case.

    Parameters
    ----------
    names : dict
        The learner's namespace.
    wanted : list of str
        Names of the answers.
    run_source, symbol : str
        Source text of the exercise's `run`, and its name.
    inputs : str
        Encoded inputs of the case.

    Returns
    -------
    Frame
        One of ``{"output": value, "untouched": bool}``, ``{"missing": name}``, ``{"constant": name}``,
        ``{"unsolved": text}``, ``{"unreadable": text}`` and ``{"error": [type, message, place]}``.
    """
    return Frame(plain.encode(_reply(names, wanted, run_source, symbol, inputs)))


def _reply(names, wanted, run_source, symbol, inputs):
    for name in wanted:
        if name not in names:
            return {"missing": name}
        if names[name] is ... or getattr(names[name], "unsolved", False) is True:
            return {"unsolved": ""}
        if not is_answer(names[name]):
            return {"constant": name}
    answers = tuple(names[name] for name in wanted)
    scope = {"__name__": "labs_check"}
    exec(compile(run_source, "<check>", "exec"), scope)
    try:
        output = scope[symbol](answers, plain.decode(inputs))
        if output is ...:
            return {"unsolved": ""}
        plain.encode(output)  # here, so that what cannot be read is told apart from what the answer raised
        return {"output": output, "untouched": untouched(answers)}
    except plain.NotPlain as error:
        return {"unreadable": clip(error)}
    except NotImplementedError as error:
        return {"unsolved": clip(error)}
    except Exception as error:
        return {"error": [clip(type(error).__name__, 60), clip(error), clip(where(error), 300)]}
