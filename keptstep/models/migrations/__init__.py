"""The schema's history: one numbered file for each change."""
