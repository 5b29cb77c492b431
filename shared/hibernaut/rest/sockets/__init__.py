"""The WebSocket API: one protocol (docs/websockets.md), on connections of this process and on connections of API Gateway."""
