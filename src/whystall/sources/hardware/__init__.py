"""GPU and host figures that exporters serve as series: DCGM, node_exporter, cAdvisor, Ray's own agents."""
