"""The laboratory: experiments that show what a limit looks like, what is said of it, and what is really seen."""
