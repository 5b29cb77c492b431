"""Files and folders: uploads, their ingestion in the background, and the files that agents have open."""
