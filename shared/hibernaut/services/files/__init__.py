"""Files and folders: uploads, reading them in the background, and what agents have open."""
