"""Prices and limits of models, from data files that `make lock` makes."""
