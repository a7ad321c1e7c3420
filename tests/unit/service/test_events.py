from whystall.service.events import LONGEST, Event, Events


async def test_who_listens_hears_it():
    events = Events()
    events.tell(Event("look", "before"))
    with events.listening() as queue:
        events.tell(Event("look", "a"))
        assert (await queue.get()).id == "a"
    assert events.listeners == 0


async def test_who_is_slow_loses_the_oldest():
    events = Events()
    with events.listening() as queue:
        for number in range(LONGEST + 10):
            events.tell(Event("look", str(number)))
        assert queue.qsize() == LONGEST
        assert (await queue.get()).id == "10"
