"""An example of a plug-in for retune: a CPU (`ev68`) and a pass (`scaled`)."""
