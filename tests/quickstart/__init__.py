"""The README is followed to the letter, as a newcomer would."""
