"""Who handed in what: one learner's folder, a folder of many, flat files, nbgrader's folders, an LMS's download."""

import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from labs.course.grade import names
from labs.course.grade.fault import CourseError

LEFT_OUT = {"__pycache__", "__MACOSX", "node_modules", "venv"}
"""Folders that hold nothing that was handed in; hidden ones (``.ipynb_checkpoints``) do not, either."""
PACKED = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")
MOST_NAMED = 12
"""Most files of one kind that are named in a note."""


@dataclass(frozen=True)
class Learner:
    """One learner.

    Attributes
    ----------
    key : str
        Different for different learners.
    name : str
        For people to read.
    page : str
        File name of the feedback page, without its ending.
    """

    key: str
    name: str
    page: str


@dataclass(frozen=True)
class Submission:
    """One notebook that counts.

    Attributes
    ----------
    path : pathlib.Path
    lesson : str
        Its lesson; empty when none was found.
    learner : str
        Key of the learner.
    label : str
        The file as a person recognises it, never an absolute path.
    notes : tuple of str
        What was odd about how it was handed in.
    """

    path: Path
    lesson: str
    learner: str
    label: str
    notes: tuple = ()


@dataclass(frozen=True)
class HandedIn:
    """Everything that was found.

    Attributes
    ----------
    learners : tuple of Learner
        Sorted by name.
    submissions : tuple of Submission
        By learner, then by lesson; one for each pair.
    notes : tuple of str
        What does not belong to one learner: files that fit no lesson.
    """

    learners: tuple
    submissions: tuple
    notes: tuple = ()


@dataclass(frozen=True)
class _File:
    path: Path
    label: str
    lesson: str
    who: names.Who
    attempt: int
    notes: tuple = ()


def find(paths, course):
    """Find learners and their notebooks among files and folders.

    Parameters
    ----------
    paths : sequence of path-like
        Notebooks, a learner's folder, or folders of learners.
    course : labs.course.grade.course.Course

    Returns
    -------
    HandedIn

    Raises
    ------
    CourseError
        When a path does not exist or nothing was found.
    """
    files, odd = [], defaultdict(list)
    for path in map(Path, paths):
        if path.is_dir():
            files += _in_folder(path, course, odd)
        elif path.exists() or path.is_symlink():
            files.append(_alone(path, course))
        else:
            raise CourseError(f"{path} does not exist.")
    notes = [f"{why}: {_listed(found)}" for why, found in odd.items()]
    if not files:
        places = ", ".join(map(str, paths))
        more = "".join(f"\n{note}" for note in notes)
        raise CourseError(f"no notebook of a lesson in {places}. Lessons: {', '.join(course.names)}.{more}")
    submissions = _newest(files)
    return HandedIn(_learners([file.who for file in files]), submissions, tuple(notes))


# ---- looking through a folder ------------------------------------------------------------------------------------
def _in_folder(top, course, odd):
    if (top / "submitted").is_dir() and not any(course.name_of(p) for p in top.glob("*.ipynb")):
        top = top / "submitted"  # the folder of a course in nbgrader
    own = readable_folder(top)
    found = []
    for path in _walk(top):
        label = names.readable(os.path.join(own, path.relative_to(top)))
        if path.suffix != ".ipynb":
            if path.suffix.lower() in PACKED:
                odd["packed files were left out; unpack them first"].append(label)
            elif course.name_of(path):
                odd["not a notebook (NAME.ipynb), left out"].append(label)
            continue
        lesson, notes = lesson_of(path, course)
        if not lesson:
            odd["these notebooks belong to no lesson and were left out"].append(label)
            continue
        found.append((path, lesson, label, notes))
    folders = {path: _people(path.relative_to(top).parts[:-1], course) for path, *_ in found}
    groups = _groups([(folders[path], lesson) for path, lesson, *_ in found])
    files = []
    for path, lesson, label, notes in found:
        above = folders[path][: 2 if folders[path] and folders[path][0].key in groups else 1]
        if len(above) == 2:
            who = names.Who("/".join(w.key for w in above), " / ".join(w.name for w in above))
        else:
            who = above[0] if above else names.of_file(path.stem, course.pattern(lesson)) or _owner(top, course)
        files.append(_File(path, label, lesson, who, names.attempt(path.stem), notes))
    return files


def _walk(top):
    for folder, inside, files in os.walk(top):
        if {"labs", "notebooks", "solutions"} <= set(inside):  # a whole clone of the course was handed in
            inside[:], files = ["notebooks"], []
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name not in LEFT_OUT)
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _people(parts, course):
    """Whom the folders name, from above. A folder that is called like a lesson names nobody, unless it says more."""
    found = []
    for part in parts:
        lesson = course.name_of(part + ".ipynb")
        who = names.from_system(part)
        who = who or (names.of_file(part, course.pattern(lesson)) if lesson else names.of_folder(part))
        found += [who] if who else []
    return found


def _groups(found):
    """Folders that hold learners' folders (a section of a class): the same lesson lies in several folders below."""
    places = defaultdict(set)
    for people, lesson in found:
        if people:
            places[people[0].key, lesson].add(people[1].key if len(people) > 1 else "")
    return {key for (key, _), below in places.items() if len(below) > 1 and "" not in below}


# ---- a file by itself ----------------------------------------------------------------------------------------------
def _alone(path, course):
    lesson, notes = lesson_of(path, course)
    absolute = path.absolute()
    who = names.of_file(path.stem, course.pattern(lesson)) if lesson else None
    if who is None:
        who = next(iter(reversed(_people(absolute.parts[-3:-1], course))), None) or _owner(absolute.parent, course)
        if any(re.fullmatch("notebooks?", part, re.I) for part in absolute.parts[-2:-1]):
            who = _owner(absolute.parent, course)
    label = names.readable(os.path.join(readable_folder(absolute.parent), path.name))
    return _File(path, label, lesson, who, names.attempt(path.stem), notes)


def lesson_of(path, course):
    """The lesson of a file by its name, its folder's name or what it checks; and notes on how it was found."""
    named = course.name_of(path) or course.name_of(path.parent.name + ".ipynb") or ""
    counts = course.by_contents(path)
    most = max(counts.values(), default=0)
    best = [lesson for lesson, count in counts.items() if count == most]
    if len(best) != 1 or counts.get(named) or (named and most < 2):
        return named, ()
    called = f"is named after {named}" if named else "is named after no lesson"
    return best[0], (f"the file {names.readable(path.name)} {called}; its checks are of {best[0]}",)


def _owner(folder, course):
    """Whose folder it is: "you", unless it bears a name that says something."""
    folder = Path(os.path.abspath(folder))
    if folder == course.source_dir.parent or course.name_of(folder.name + ".ipynb"):
        return names.Who("you", "you")
    return names.of_folder(folder.name) or names.Who("you", "you") if folder.name else names.Who("you", "you")


def readable_folder(folder):
    """The last part of a folder's path."""
    return names.readable(os.path.basename(os.path.abspath(folder)))


# ---- one notebook for each learner and lesson ------------------------------------------------------------------------
def _newest(files):
    """Of several notebooks of one lesson the latest counts: the highest number in the name, else the latest change."""
    places, chosen = defaultdict(list), []
    for file in {file.path.absolute(): file for file in files}.values():
        places[file.who.key, file.lesson or str(file.path)].append(file)
    for (key, _), several in sorted(places.items()):
        several.sort(key=_rank)
        last, notes = several[-1], several[-1].notes
        if len(several) > 1:
            others = _listed([file.label for file in several[:-1]])
            notes += (f"handed in {len(several)} times: {last.label} counts as the newest; left out: {others}",)
        chosen.append(Submission(last.path, last.lesson, key, last.label, notes))
    return tuple(chosen)


def _rank(file):
    try:
        changed = os.lstat(file.path).st_mtime
    except OSError:
        changed = 0.0
    return file.attempt, changed, file.path.stem == file.lesson, str(file.path)


def _learners(people):
    people = {who.key: who for who in people}
    same = Counter(who.name for who in people.values())
    shown, used = {}, Counter()
    for key, who in sorted(people.items()):
        name = f"{who.name} ({who.number})" if same[who.name] > 1 and who.number else who.name
        used[name] += 1  # names that differ only in what cannot be shown
        shown[key] = name if used[name] == 1 else f"{name} ({used[name]})"
    order = sorted(shown, key=lambda key: (shown[key].casefold(), key))
    return tuple(Learner(k, shown[k], page) for k, page in zip(order, names.pages([shown[k] for k in order])))


def _listed(labels):
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    return ", ".join(labels[:MOST_NAMED]) + more
