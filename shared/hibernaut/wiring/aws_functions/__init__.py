"""What single functions on AWS have beside the common composition: the WebSocket API, and the firing of schedules."""
