"""One router per resource. A route reads its request, calls one use case and gives its answer a body; it decides nothing."""
