"""The client side of the Model Context Protocol: other people's servers, remote or sandboxed."""
