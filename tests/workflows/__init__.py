"""The engines that drive a run's steps."""
