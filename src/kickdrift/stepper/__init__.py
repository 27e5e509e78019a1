"""The Python side of Stepper: what is stepped, as numbers; saving, recording and drawing."""
