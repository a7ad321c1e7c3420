"""The closed loop: look, diagnose, choose, change, prove, keep or go back, and remember."""
