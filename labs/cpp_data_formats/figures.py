"""The pictures, widgets and measurements of lesson 21. What draws or measures is imported when it is called."""

__all__ = []
