"""The WebSocket API: one protocol (docs/websockets.md), on this process's own connections and on those that API Gateway holds."""
