"""Measurements of speed, side by side with other libraries; no part of the package."""
