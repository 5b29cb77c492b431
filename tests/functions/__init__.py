"""The handlers, each given what AWS sends."""
