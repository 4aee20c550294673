"""Grade learners' notebooks: answers run in a sandbox, verdicts are reached outside it.

============  =======================================================================================
module        idea
============  =======================================================================================
`course`      where lessons, exercises and their source notebooks are
`library`     the copy of `labs` that a learner's code may see: no exercises, no answers
`jail`        namespaces, limits, an own user; or, where that is not allowed, a plain child process
`syscalls`    what a jail's processes may not ask of the system
`landlock`    the files that they are kept to where there are no namespaces
`watch`       the jail's monitor: what all its processes hold together, and how it ended
`warm`        a server that has imported PyTorch once and forks a kernel for each notebook
`sandbox`     where kernels come from
`kernel`      one kernel, seen from the trusted side
`reasons`     words for the limits that an answer met
`notebook`    reading notebooks nobody vouches for, and the plan of what runs; `recognise` finds cells that lost their
              names, and older versions of a lesson
`remote`      calling an answer, inside the sandbox
`verdict`     one exercise: secret cases, outputs as plain data, verdicts under an alarm
`grade`       one notebook, and many
`marks`       Mark and Result
`learners`    who handed in what; `names` reads what names of files and folders say
`secret`      what decides the secret cases
`store`       results that were reached already
`grades`      all results of a run, and what can be seen across them
`outputs`     everything that a run leaves: `report` (table, JSON), `junit`, `gradebook`, `summary`, `feedback`
              (a page for each learner) and `overview` (the class), both made with `page`
`drawing`     the picture of a hint, safe to put into a page; `words` does the same for text
`bar`         how far grading is
`fault`       what can be at fault besides a learner's notebook
`command`     ``python -m labs grade``
============  =======================================================================================

Importing this package imports none of them, so that the command line starts fast.
"""
