"""API Gateway in this process: routes, events of requests, and sockets."""
