"""The engine as an author of workflows sees it, on real files and a real database."""
