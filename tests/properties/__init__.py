"""Promises that hold for any input, tried by hypothesis."""
