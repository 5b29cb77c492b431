"""Parts of the composition on AWS: the API, schedules, packages and tables."""
