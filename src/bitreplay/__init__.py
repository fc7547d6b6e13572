"""bitreplay."""
