"""The function that takes up, once a minute, every open run that is past due."""
