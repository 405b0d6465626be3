"""Reports on a memory file, checks it, and estimates the cost of logs. Read status, doctor,
estimate, in this order."""
