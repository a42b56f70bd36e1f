"""The programs that decide the claims of a study and find the numbers of its answer."""
