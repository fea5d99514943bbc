"""Tables and figures of the papers, made again with honest methods. Real data stay outside the repository."""
