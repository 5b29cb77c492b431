"""Engines of the port `Tracer`: spans in OpenTelemetry's protocol, and subsegments of AWS X-Ray."""
