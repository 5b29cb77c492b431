"""What holds for the whole tree, whoever writes in it."""
