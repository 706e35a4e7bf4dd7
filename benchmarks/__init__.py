"""What a kept step costs, beside the floor the disk sets."""
