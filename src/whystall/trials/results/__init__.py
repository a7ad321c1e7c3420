"""Results of other load generators: read, and two of them compared for what that is worth."""
