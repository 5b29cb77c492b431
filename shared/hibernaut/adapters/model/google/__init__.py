"""Google's Gemini API, and the same models on Vertex AI."""
