"""What games are made with: kernels, the tuple interface, specifications, discovery."""
