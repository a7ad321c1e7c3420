import socket

from whystall.service.systemd import notify


def test_systemd_is_told(tmp_path):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(path)
        assert notify("READY=1", {"NOTIFY_SOCKET": path})
        assert receiver.recv(100) == b"READY=1"


def test_without_systemd_nothing_happens(tmp_path):
    assert not notify("READY=1", {})
    assert not notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert not notify("READY=1", {"NOTIFY_SOCKET": "relative"})
