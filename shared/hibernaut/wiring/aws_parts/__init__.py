"""Parts of the composition on AWS: the API, its sockets, schedules, packages and tables."""
