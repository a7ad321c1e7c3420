"""What changes a server: one file a way of running it, all behind :class:`~whystall.trials.actuators.actuator.Actuator`."""
