"""Layers that serve every frontend: kernels under a functionality key that watch calls and pass them on."""
