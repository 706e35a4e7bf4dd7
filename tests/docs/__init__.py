"""The pages a reader is sent to: what they show works."""
