"""Pictures and pages of released results: drawn from what was released, and from nothing else."""
