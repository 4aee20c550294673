"""C++ for the lessons: build it, load it, and run a learner's code in a child process that may crash."""
