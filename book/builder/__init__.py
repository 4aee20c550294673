"""What the book adds to the lessons when it is built: map, moving picture, boxes, lists. `book/build.py` calls it."""
