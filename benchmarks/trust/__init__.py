"""Trials by force: damaged and hostile run folders, files that expand, kills, full disks, many processes at once."""
