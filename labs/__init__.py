"""Warp to Cluster: the lab packages behind the notebooks, one per lesson, and the kit that they share."""
