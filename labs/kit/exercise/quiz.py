"""Questions to check yourself: ungraded, and every wrong choice is explained."""

from collections.abc import Mapping
from dataclasses import dataclass

from labs.kit.exercise.explain import clip, in_notebook
from labs.kit.exercise.markup import escape, inline, printable, prose, shell


@dataclass(frozen=True)
class Question:
    """A multiple-choice question; called with an answer, it shows the choices and explains that answer.

    Parameters
    ----------
    id : str
        A Python name: the object's own name in the lesson's ``exercises`` module.
    text : str
        The question.
    choices : mapping of str to str
        Letter to text, in the order shown.
    right : str
        Letter of the right choice.
    why : mapping of str to str
        For every choice, why it is right, or which thought leads to it and where that thought goes wrong.
    """

    id: str
    text: str
    choices: Mapping[str, str]
    right: str
    why: Mapping[str, str]

    def __post_init__(self):
        if self.right not in self.choices or set(self.why) != set(self.choices) or len(self.choices) < 2:
            raise ValueError(f"Question {self.id}: needs two or more choices, the right one among them, each explained")

    def __call__(self, answer=None) -> None:
        """Show the question, the chosen answer and its explanation. Never raises; ``...`` means not answered yet.

        Parameters
        ----------
        answer : str, None or ...
            One of the letters; blanks and capitals do not matter.
        """
        verdict = self._verdict(answer)
        if not in_notebook():
            print(self._text(*verdict))
            return
        from IPython.display import display

        display({"text/html": self._html(*verdict), "text/plain": self._text(*verdict)}, raw=True)

    def _verdict(self, answer):
        """(state, chosen letter or None, what to say)."""
        if answer is None or answer is ...:
            words = f"Not answered yet: write {self._letters()} in place of the dots and run the cell again."
            return "unsolved", None, words
        chosen = answer.strip().lower() if type(answer) is str else None
        chosen = next((letter for letter in self.choices if letter.lower() == chosen), None)
        if chosen is None:
            return "unsolved", None, f"{clip(repr(answer), 40)} is none of the choices. Write {self._letters()}."
        if chosen == self.right:
            return "solved", chosen, f"Right. {self.why[chosen]}"
        return "failed", chosen, f"Not {chosen}. {self.why[chosen]}"

    def _letters(self):
        quoted = [f'"{letter}"' for letter in self.choices]
        return ", ".join(quoted[:-1]) + f" or {quoted[-1]}"

    def _text(self, state, chosen, words):
        sign = {"solved": "✔", "failed": "✘", "unsolved": "○"}[state]
        choices = [f" {sign if key == chosen else ' '} {key}  {text}" for key, text in self.choices.items()]
        return printable("\n".join([self.text, *choices, words]))

    def _html(self, state, chosen, words):
        sign = {"solved": "✔", "failed": "✘", "unsolved": "○"}[state]
        items = "".join(
            f"<li{_mine(key == chosen)}><b>{escape(key)}</b>{inline(text)}"
            + (
                f' <span class="lk-title"><span aria-hidden="true">{sign}</span> your answer</span>'
                if key == chosen
                else ""
            )
            + "</li>"
            for key, text in self.choices.items()
        )
        body = (
            f'<p class="lk-question">{inline(self.text)}</p><ul class="lk-choices">{items}</ul>'
            f'<div class="lk-say">{prose(words)}</div>'
        )
        return shell("lk-told" if state == "unsolved" else f"lk-{state}", f"Question: {self.text}", body)


def _mine(chosen):
    return ' class="lk-mine"' if chosen else ""
