# No Python API: used only by other compiled modules.
