"""The engine of the `FileReader` port: a child process, in every profile."""
