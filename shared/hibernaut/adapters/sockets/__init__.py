"""WebSocket connections that API Gateway holds, and the Lambda function that works for them."""
