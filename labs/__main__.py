"""`python -m labs ...`: the command line of the course."""

from labs.course.command import main

if __name__ == "__main__":
    raise SystemExit(main())
