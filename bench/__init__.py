"""Measurements of the course's own machinery, as ratios to named peers measured in the same run: `make bench`."""
