from whystall.reports.trace_sheet import ns, rate, share, size


def test_units() -> None:
    assert (ns(1_500), ns(2.5e9), ns(0), ns(None)) == ("1.5 µs", "2.5 s", "0 s", "–")
    assert (rate(3.2e12, "FLOP/s"), rate(None, "B/s")) == ("3.2 TFLOP/s", "–")
    assert (size(4096), size(None)) == ("4 KiB", "–")
    assert (share(0.184), share(-0.0001), share(None)) == ("18%", "0%", "–")
