"""What programs are told of the tools that they may use, and how they add some."""
