"""Engines that fire schedules at their times."""
