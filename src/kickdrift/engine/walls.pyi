# What is compiled here is for the other compiled modules alone.
