"""The Python side of Stepper: the model as numbers, changes, snapshots, recording and drawing."""
