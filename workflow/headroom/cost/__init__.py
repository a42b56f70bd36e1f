"""What a study will cost on this machine: its jobs, their work, and the speed of the project's functions here."""
