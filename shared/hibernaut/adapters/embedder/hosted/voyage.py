"""The settings of Voyage, which has embedding models alone. Imports nothing, because the settings of every process name it."""

KEY, ADDRESS = "VOYAGE_API_KEY", "VOYAGE_BASE_URL"
"""The key has the name of Voyage's own clients (docs.voyageai.com/docs/api-key-and-installation)."""
URL = "https://api.voyageai.com/v1"
